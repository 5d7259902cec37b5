-- release.lua, Leasehold wire format 1
-- Ends an owner token: forgets its place in the queue, deletes the lock if it holds it, and raises the fence to its
-- highest ballot, so that no late copy of its requests is granted. If the lock is free then, wakes the first waiter.
-- Release, undo and withdrawal are this one script; repeating it is harmless.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  waiters
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
--   3  retention in us
--   4  bound in us: the fence is raised to at most max(fence, TIME) + bound
--   5  channel of the caller
--   6  window in us: how long a waiter that is woken may take before its place is lost
-- Replies (now is TIME in us)
--   {"released", now}      the lock was held by this owner token and is not any more
--   {"not-ours", now}      it was not
-- Errors
--   Redis' own. Nothing refuses the deletion once it has begun: the writes after it are not checked for memory.

local LOCK, FENCE, WAITERS = KEYS[1], KEYS[2], KEYS[3]
local owner = ARGV[1]
local ballot = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local keep = retention
local bound = tonumber(ARGV[4])
local me = owner .. ':' .. ARGV[5]
local window = tonumber(ARGV[6])

-- shared: numbers
-- Lua prints large numbers as 1.7e+15; the wire wants all their digits.
local function digits(number)
  return string.format('%.0f', number)
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- end shared

-- shared: text
-- The text at a key, false if there is none, nil if the key is of another type.
local function text_at(key)
  local text = redis.pcall('GET', key)
  if type(text) ~= 'table' then
    return text
  end
  if text.err:find('WRONGTYPE', 1, true) then
    return nil
  end
  -- Anything else, for example a missing right, is the caller's to hear: asking again raises it.
  return redis.call('GET', key)
end
-- end shared

-- shared: fence
-- The number at a key, 0 if there is none, nil if the key holds anything else.
local function number_at(key)
  local text = text_at(key)
  if text == false then
    return 0
  end
  if text and #text <= 16 and text:match('^%d+$') then
    return tonumber(text)
  end
  return nil
end

-- Writes the fence; it stays until max(fence, TIME) + keep, and as long as it was to stay before.
local function write_fence(value)
  local ms = math.ceil((math.max(value, now) + keep - now) / 1000)
  local left = redis.pcall('PTTL', FENCE)
  if type(left) == 'number' and left > ms then
    ms = left
  end
  return redis.pcall('SET', FENCE, digits(value), 'PX', digits(ms))
end
-- end shared

-- shared: holder
-- Whether a value was written under an owner token.
local function is_of(value, token)
  return type(value) == 'string' and value:sub(1, 41) == token .. ':'
end

-- What may be told of a value: never an owner token, never a stranger's text.
local function public(value, key)
  if type(value) ~= 'string' then
    local kind = redis.pcall('TYPE', key)
    return 'foreign', kind.ok or 'unknown'
  end
  if value:sub(1, 40):match('^[0-9a-f]+$') and value:sub(41):match('^:%d*:') then
    return 'lock', value:sub(42, 600)
  end
  return 'foreign', 'string'
end
-- end shared

-- shared: queue
-- The queue is one sorted set with two members for each waiter w = "<owner token>:<channel>":
--   "q<w>"  score: its place, in the order of arrival (us, always > 0)
--   "a<w>"  score: minus the time (us) until which it counts as alive

local function forget(waiter)
  redis.pcall('ZREM', WAITERS, 'q' .. waiter, 'a' .. waiter)
end

local function drop_dead()
  local dead = redis.pcall('ZRANGEBYSCORE', WAITERS, digits(-now), '(0', 'LIMIT', 0, 64)
  for _, member in ipairs(dead) do
    forget(member:sub(2))
  end
end

local function first_waiter()
  local member = redis.pcall('ZRANGEBYSCORE', WAITERS, '1', '+inf', 'LIMIT', 0, 1)[1]
  return member and member:sub(2)
end

-- Tells the first waiter that can be reached, unless that is the caller; those that nobody listens for are dropped.
-- Whoever is told has the window to come, and then counts as dead: a client that vanished without a word must not keep a
-- free lock from the others.
local function wake_first(caller)
  drop_dead()
  for _ = 1, 64 do
    local waiter = first_waiter()
    if not waiter or waiter == caller then
      return
    end
    local attempt = redis.sha1hex(waiter:sub(1, 40)):sub(1, 16)
    local reached = redis.pcall('PUBLISH', waiter:sub(42), 'wake ' .. attempt .. ' ' .. digits(now) .. ' ' .. LOCK)
    if reached ~= 0 then
      local alive = redis.pcall('ZSCORE', WAITERS, 'a' .. waiter)
      if not alive or -tonumber(alive) > now + window then
        redis.pcall('ZADD', WAITERS, digits(-(now + window)), 'a' .. waiter)
      end
      return
    end
    forget(waiter)
  end
end
-- end shared

-- First of all: it has written then, and from a script that has written memory is not refused any more.
forget(me)

local value = text_at(LOCK)
local released = is_of(value, owner)
if released then
  redis.call('DEL', LOCK)
  value = false
end

local fence = number_at(FENCE)
if fence then
  local raised = math.min(ballot, math.max(fence, now) + bound)
  -- What does not beat TIME - retention is refused without a fence.
  if raised > math.max(fence, now - retention) then
    write_fence(raised)
  end
end

if value == false and redis.pcall('EXISTS', WAITERS) == 1 then
  wake_first(me)
end
return {released and 'released' or 'not-ours', digits(now)}
