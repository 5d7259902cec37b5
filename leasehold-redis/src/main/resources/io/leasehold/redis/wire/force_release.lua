-- force_release.lua, Leasehold wire format 1
-- Takes a lock away from whoever holds it, for operators. The fence is raised to TIME with it, so that a resource that
-- checks tokens refuses the old holder once a new one has come. Wakes the first waiter.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
-- ARGV (numbers are decimal strings)
--   1  whose hold is to go: a holder id, or empty for whoever it is; "foreign client" names every stranger
--   2  retention in us
--   3  window in us: how long a waiter that is woken may take before its place is lost
-- Replies
--   {"removed"}        a hold is gone
--   {"none"}           the lock was free, or held by somebody else than ARGV[1]
--   {"foreign", type}  the lock is not a string, or the fence not a number, so not of any client: nothing is touched
-- Errors
--   Redis' own; nothing is written then

local LOCK, FENCE, QUEUED, WAITERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local wanted = ARGV[1]
local retention = tonumber(ARGV[2])
local window = tonumber(ARGV[3])
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

-- shared: holder
-- What may be told of the key of a hold: never an owner token, never a stranger's text.
local function public(value)
  if not value then
    return 'foreign', redis.call('TYPE', LOCK).ok
  end
  if value:sub(1, 40):match('^[0-9a-f]+$') and value:sub(41):match('^:%d*:') then
    return 'lock', value:sub(42, 600)
  end
  return 'foreign', 'string'
end
-- end shared

if redis.call('EXISTS', LOCK) == 0 then
  return {'none'}
end
local value, fence_text = unpack(redis.call('MGET', LOCK, FENCE))
local state, text = public(value)
if not value then
  return {'foreign', text}
end
local holder = state == 'lock' and text:match('^%d*:(.*)$') or 'foreign client'
if wanted ~= '' and wanted ~= holder then
  return {'none'}
end
local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return {'foreign', redis.call('TYPE', FENCE).ok}
end

-- One script is one step, so the order is not seen; after a deletion lack of memory refuses nothing.
redis.call('DEL', LOCK)
local raised = math.max(fence, now)
redis.call('SET', FENCE, digits(raised), 'PX', digits(math.ceil((raised + retention - now) / 1000)))
wake_first('')
return {'removed'}
