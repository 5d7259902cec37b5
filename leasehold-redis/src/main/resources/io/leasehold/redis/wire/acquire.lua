-- acquire.lua, Leasehold wire format 1
-- Proposes a ballot: takes the lock if the ballot beats the floor and the lock is free or already the caller's;
-- else the caller may join the queue of waiters.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
--   5  asked
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"; the owner token is 40 lower-case hexadecimal digits
--   2  ttl in ms
--   3  candidate: the fencing token proposed
--   4  last: candidate + reserve - 1
--   5  retention in us: the floor is never below TIME - retention, and the fence stays until max(fence, TIME) + retention
--   6  bound in us: how far ahead of max(fence, TIME) a ballot may be
--   7  place in ms: how long a place in the queue is kept without being asked for again; 0: the caller does not wait
--   8  channel on which the caller is told
--   9  claim in ms: for how long the lock is the caller's once it is handed over; 0: the caller is only to be woken
--   10 window in us: how long a waiter that was woken may take before its place is lost
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"yes", now}                                the lock is the caller's; fence = last
--   {"stale", now, floor}                       the candidate does not beat the floor
--   {"refused", now, limit}                     last is beyond the limit max(fence, TIME) + bound
--   {"held", now, state, text, pttl}            not the caller's, and the caller is not in the queue
--   {"queued", now, state, text, pttl}          not the caller's; the caller is in the queue
--       state "lock": text is "<token>:<holder id>" of the holder; "foreign": text is the type of the key, written by
--       something else; "ahead": the lock is free, but others wait before the caller. pttl in ms, -1 without end.
--       A free lock is handed to the first waiter on the way: then that one is the holder.
--   {"broken", now, key, type}                  a side key holds something else
-- Errors
--   Redis' own (OOM, READONLY, NOPERM ...). The first write decides; after an error the lock is as it was.

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local candidate, last = tonumber(ARGV[3]), tonumber(ARGV[4])
local retention = tonumber(ARGV[5])

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

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET is silent about keys of other types: what it does not find is only ever written with NX.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence then
  return broken(FENCE)
end
local floor = math.max(fence, now - retention)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + tonumber(ARGV[6])
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

-- Whether the fence could be written.
local function raise_fence()
  local ms = digits(math.ceil((math.max(last, now) + retention - now) / 1000))
  if fence_text then
    return redis.call('SET', FENCE, ARGV[4], 'PX', ms)
  end
  return redis.call('SET', FENCE, ARGV[4], 'PX', ms, 'NX')
end

-- Whether the lock was there for the taking.
local function take()
  if not redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2], 'NX') then
    return false
  end
  if not raise_fence() then
    redis.call('DEL', LOCK)
    return broken(FENCE)
  end
  return {'yes', digits(now)}
end

-- The common case, before the rest is even set up: free, and nobody waits.
if not value and not queued then
  local taken = take()
  if taken then
    return taken
  end
end

local owner = ARGV[1]:sub(1, 40)
local place = tonumber(ARGV[7])
local window = tonumber(ARGV[10])

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

-- The lock is the caller's now: it waits no more.
local function leave_queue()
  if queued then
    forget(owner)
    if redis.call('EXISTS', WAITERS) == 0 then
      redis.call('DEL', QUEUED)
    end
  end
end

-- Joins the queue, or shows that its waiter is still there. A number, or the error that kept it out.
local function join()
  drop_dead()
  local alive = digits(-(now + place * 1000))
  local added
  if redis.pcall('ZSCORE', WAITERS, 'q' .. owner) then
    added = redis.pcall('ZADD', WAITERS, alive, 'a' .. owner)
  else
    local latest = redis.pcall('ZREVRANGE', WAITERS, 0, 0, 'WITHSCORES')[2]
    local arrival = math.max(now, latest and tonumber(latest) + 1 or 0)
    added = redis.pcall('ZADD', WAITERS, digits(arrival), 'q' .. owner, alive, 'a' .. owner)
  end
  if type(added) == 'table' then
    return added
  end
  local holder = ARGV[1]:match('^[^:]*:[^:]*:(.*)$') or ''
  local ms = digits(math.max(place, redis.call('PTTL', WAITERS)))
  redis.call('HSET', ASKED, owner, ARGV[8] .. ' ' .. ARGV[9] .. ' ' .. digits(last - candidate + 1) .. ' ' .. holder)
  redis.call('PEXPIRE', ASKED, ms)
  redis.call('PEXPIRE', WAITERS, ms)
  redis.call('SET', QUEUED, '1', 'PX', ms)
  return added
end

if value and value:sub(1, 41) == owner .. ':' then
  if not raise_fence() then
    return broken(FENCE)
  end
  redis.call('SET', LOCK, ARGV[1], 'PX', digits(math.max(tonumber(ARGV[2]), redis.call('PTTL', LOCK))))
  leave_queue()
  return {'yes', digits(now)}
end

local ahead = false
if queued and not value and redis.call('EXISTS', LOCK) == 0 then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end
  -- Only a waiter that can still hear of it keeps the lock from the caller.
  if serve_first(owner, fence) then
    leave_queue()
    return take()
  end
  value = redis.call('MGET', LOCK)[1]
  ahead = not value
end

local answer = 'held'
if place > 0 then
  for key, wanted in pairs({[WAITERS] = 'zset', [ASKED] = 'hash'}) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= wanted and kind ~= 'none' then
      return broken(key)
    end
  end
  local joined = join()
  if type(joined) == 'number' then
    answer = 'queued'
  elseif not joined.err:find('OOM', 1, true) then
    return joined
  end
end
if ahead then
  return {answer, digits(now), 'ahead', '', '-1'}
end
local state, text = public(value)
return {answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))}
