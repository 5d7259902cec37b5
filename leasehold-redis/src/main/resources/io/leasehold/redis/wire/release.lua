-- release.lua, Leasehold wire format 1
-- Ends an owner token: forgets its place in the queue, deletes the lock if it holds it, and raises the fence to its
-- highest ballot, so that no late copy of its requests is granted. If the lock is free then, wakes the first waiter.
-- Release, undo and withdrawal are this one script; repeating it is harmless.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
--   3  retention in us
--   4  bound in us: the fence is raised to at most max(fence, TIME) + bound
--   5  channel of the caller
--   6  window in us: how long a waiter that is woken may take before its place is lost
-- Replies
--   {"released"}      the lock was held by this owner token and is not any more
--   {"not-ours"}      it was not
-- Errors
--   Redis' own; then the lock is as it was. A deletion is not refused for lack of memory, nor is anything after it.

local LOCK, FENCE, QUEUED, WAITERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner = ARGV[1]
local value, queued = unpack(redis.call('MGET', LOCK, QUEUED))

local released = value and value:sub(1, 41) == owner .. ':'
if released then
  redis.call('DEL', LOCK)
  -- The grant of the token in the value has raised the fence to it; only a higher ballot needs more.
  if not queued and value:sub(42, 42 + #ARGV[2]) == ARGV[2] .. ':' then
    return {'released'}
  end
end

local ballot = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local bound = tonumber(ARGV[4])
local me = owner .. ':' .. ARGV[5]
local window = tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers
-- Lua prints large numbers as 1.7e+15; the wire wants all their digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- A decimal number, 0 for nothing, nil for any other text.
local function number_in(text)
  if not text then
    return 0
  end
  return #text <= 16 and text:match('^%d+$') and tonumber(text) or nil
end
-- end shared

-- shared: queue
-- The queue is one sorted set with two members for each waiter w = "<owner token>:<channel>":
--   "q<w>"  score: its place, in the order of arrival (us, always > 0)
--   "a<w>"  score: minus the time (us) until which it counts as alive
-- QUEUED exists whenever the queue is not empty, and is read in the same command as the lock.

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
    if not waiter then
      redis.pcall('DEL', QUEUED)
      return
    end
    if waiter == caller then
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

-- Also where nothing waits: from a script that has written, memory is not refused any more.
forget(me)

local fence_text = redis.call('MGET', FENCE)[1]
local fence = number_in(fence_text)
if fence then
  local raised = math.min(ballot, math.max(fence, now) + bound)
  -- What does not beat TIME - retention is refused without a fence.
  if raised > math.max(fence, now - retention) then
    local ms = digits(math.ceil((math.max(raised, now) + retention - now) / 1000))
    if fence_text then
      redis.pcall('SET', FENCE, digits(raised), 'PX', ms)
    else
      redis.pcall('SET', FENCE, digits(raised), 'PX', ms, 'NX')
    end
  end
end

if queued and redis.call('EXISTS', LOCK) == 0 then
  wake_first(me)
end
return {released and 'released' or 'not-ours'}
