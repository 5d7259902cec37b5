-- force_release.lua, Leasehold wire format 1
-- Takes a lock away from whoever holds it, for operators. The fence is raised to TIME with it, so that a resource that
-- checks tokens refuses the old holder once a new one has come. Hands the lock to the first waiter.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
--   5  asked
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

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
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

-- shared: tell
-- Whether anybody heard it; where that cannot be told, yes. On a Cluster the channel is one of the lock's slot, and has its
-- tag in braces; or it ends with ~, and is broadcast: the count of that says nothing.
local function tell(channel, message)
  local sharded = channel:find('{', 1, true)
  local heard = redis.pcall(sharded and 'SPUBLISH' or 'PUBLISH', channel, message)
  return heard ~= 0 or channel:sub(-1) == '~'
end
-- end shared

-- shared: queue
-- The queue is one sorted set with two members for each waiter, who is known by its owner token:
--   "q<owner token>"  score: its place, in the order of arrival (us, always > 0)
--   "a<owner token>"  score: minus the time (us) until which it counts as alive
-- ASKED is a hash: owner token -> "<channel> <claim ms> <reserve> <holder id>", what its waiter asked for.
-- QUEUED exists whenever the queue is not empty, and is read in the same command as the lock.

local function forget(waiter)
  redis.pcall('ZREM', WAITERS, 'q' .. waiter, 'a' .. waiter)
  redis.pcall('HDEL', ASKED, waiter)
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

-- A waiter that asked for no hand-over is told that the lock is free. It has the window to come, and then counts as dead:
-- a client that vanished without a word must not keep a free lock from the others.
local function wake(waiter, attempt, channel)
  if not tell(channel, 'wake ' .. attempt .. ' ' .. digits(now) .. ' ' .. LOCK) then
    return false
  end
  local alive = redis.pcall('ZSCORE', WAITERS, 'a' .. waiter)
  if not alive or -tonumber(alive) > now + window then
    redis.pcall('ZADD', WAITERS, digits(-(now + window)), 'a' .. waiter)
  end
  return true
end

-- The lock becomes the waiter's, for its claim ttl, with tokens above the fence. Whether it could be told; nil if that could
-- not even be written.
local function hand_over(waiter, attempt, channel, claim, reserve, holder, fence)
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  local written = first <= 9007199254740992 - reserve
    and redis.pcall('SET', LOCK, waiter .. ':' .. digits(first) .. ':' .. holder, 'PX', claim)
  if not written or written.err then
    return nil
  end
  local range = digits(first) .. ' ' .. digits(last)
  if not tell(channel, 'handed ' .. attempt .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. LOCK) then
    redis.pcall('DEL', LOCK)
    return false
  end
  -- After a write memory is not refused any more.
  redis.pcall('SET', FENCE, digits(last), 'PX', digits(math.ceil((math.max(last, now) + retention - now) / 1000)))
  forget(waiter)
  return true
end

-- The lock is free: it goes to the first waiter that can be reached, unless that is the caller; those that nobody listens
-- for are dropped. Whether the caller is left before all others.
local function serve_first(caller, fence)
  drop_dead()
  for _ = 1, 64 do
    local waiter = first_waiter()
    if not waiter then
      redis.pcall('DEL', QUEUED)
      return true
    end
    if waiter == caller then
      return true
    end
    local asked = redis.pcall('HGET', ASKED, waiter)
    local channel, claim, reserve, holder
    if type(asked) == 'string' then
      channel, claim, reserve, holder = asked:match('^(%S+) (%d+) (%d+) (.*)$')
    end
    if channel then
      local attempt = redis.sha1hex(waiter):sub(1, 16)
      local served
      if claim == '0' then
        served = wake(waiter, attempt, channel)
      else
        served = hand_over(waiter, attempt, channel, claim, tonumber(reserve), holder, fence)
      end
      if served ~= false then
        return false
      end
    end
    forget(waiter)
  end
  return false
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
serve_first('', raised)
return {'removed'}
