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
--   4  last: candidate + reserve - 1; without it, the candidate
--   5  place in ms: how long a place in the queue is kept without being asked for again; without it, or 0: the caller does not wait
--   6  channel on which the caller is told
--   7  claim in ms: for how long the lock is the caller's once it is handed over; 0: the caller is only to be woken
-- Replies (numbers are decimal strings; now is TIME in us)
--   {s, us}                                     the lock is the caller's, fence = last; TIME as it is, its microseconds apart
--   {"yes", now}                                the same, where others wait, or it was the caller's already
--   {"stale", now, floor}                       the candidate does not beat the floor
--   {"refused", now, limit}                     last is beyond the limit max(fence, TIME) + bound
--   {"held", now, state, text, pttl}            not the caller's, and the caller is not in the queue
--   {"queued", now, state, text, pttl}          not the caller's; the caller is in the queue
--       state "lock": text is "<token>:<holder id>" of the holder; "foreign": text is the type of the key, written by
--       something else; "ahead": the lock is free, but others wait before the caller. pttl in ms, -1 without end.
--       A free lock is handed to the first waiter on the way: then that one is the holder.
--   {"broken", now, key, type}                  a side key holds something else
--   Those of a lock that others wait for may end with "besides", error: what was refused while they were served
-- Errors
--   Redis' own (OOM, READONLY, NOPERM ...). The first write decides; after an error the lock is as it was.
--   Where +pttl, +hset or +pexpire is missing, a place in the queue may stay after it, in WAITERS without end; the next waiter
--   that joins drops it, once it counts as dead.

local RETENTION = 60000000 -- us: the floor is never below TIME - this, and the fence stays until max(fence, TIME) + this
local BOUND = 7500000 -- us: how far ahead of max(fence, TIME) a ballot may be

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local last_text = ARGV[4] or ARGV[3]
local candidate, last = tonumber(ARGV[3]), tonumber(last_text)

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET is silent about keys of other types: what it does not find is only ever written with NX.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

-- The common case, written out before any function is made, which would take the server as long again: the lock is free,
-- nobody waits, and the ballot is good.
if not value and not queued then
  local fence = 0
  if fence_text then
    fence = #fence_text <= 16 and fence_text:find('^%d+$') and tonumber(fence_text)
  end
  if fence and candidate > fence and candidate > now - RETENTION and last <= (fence > now and fence or now) + BOUND
    and redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2], 'NX') then
    local ms = last > now and math.ceil((last + RETENTION - now) / 1000) or '60000'
    if fence_text then
      redis.call('SET', FENCE, last_text, 'PX', ms)
    elseif not redis.call('SET', FENCE, last_text, 'PX', ms, 'NX') then
      redis.call('DEL', LOCK)
      return {'broken', string.format('%.0f', now), FENCE, redis.call('TYPE', FENCE).ok}
    end
    return time
  end
end

-- shared: numbers

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence then
  return broken(FENCE)
end
local floor = math.max(fence, now - RETENTION)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + BOUND
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

-- Whether the fence could be written.
local function raise_fence()
  local ms = digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000))
  if fence_text then
    return redis.call('SET', FENCE, last_text, 'PX', ms)
  end
  return redis.call('SET', FENCE, last_text, 'PX', ms, 'NX')
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

local owner = ARGV[1]:sub(1, 40)
local place = tonumber(ARGV[5] or 0)

-- shared: attempts

-- shared: tell

-- shared: queue

-- shared: holder

-- The lock is the caller's now: it waits no more.
local function leave_queue()
  if queued then
    forget(owner)
    if redis.call('EXISTS', WAITERS) == 0 then
      redis.call('DEL', QUEUED)
    end
  end
end

-- Joins the queue, or shows that its waiter is still there. Whether it could.
local function join()
  drop_dead()
  local alive = digits(-(now + place * 1000))
  local added
  if try('ZSCORE', WAITERS, 'q' .. owner) then
    added = try('ZADD', WAITERS, alive, 'a' .. owner)
  else
    local latest = try('ZREVRANGE', WAITERS, 0, 0, 'WITHSCORES')
    if not refusal then
      local arrival = math.max(now, latest and latest[2] and tonumber(latest[2]) + 1 or 0)
      added = try('ZADD', WAITERS, digits(arrival), 'q' .. owner, alive, 'a' .. owner)
    end
  end
  if not added then
    return false
  end
  local holder = ARGV[1]:match('^[^:]*:[^:]*:(.*)$') or ''
  local ms = digits(math.max(place, redis.call('PTTL', WAITERS)))
  redis.call('HSET', ASKED, owner, ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. digits(last - candidate + 1) .. ' ' .. holder)
  redis.call('PEXPIRE', ASKED, ms)
  redis.call('PEXPIRE', WAITERS, ms)
  redis.call('SET', QUEUED, '1', 'PX', ms)
  return true
end

if value and value:sub(1, 41) == owner .. ':' then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end
  local ttl = digits(math.max(tonumber(ARGV[2]), redis.call('PTTL', LOCK)))
  -- Before anything is set: from a script that has written, memory is not refused any more, and what a full server has handed
  -- over has to be confirmed.
  redis.call('PEXPIRE', LOCK, ttl)
  raise_fence()
  redis.call('SET', LOCK, ARGV[1], 'PX', ttl)
  leave_queue()
  return with_refusal({'yes', digits(now)})
end

local ahead = false
if queued and not value and redis.call('EXISTS', LOCK) == 0 then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end
  -- Only a waiter that can still hear of it keeps the lock from the caller.
  local first = serve_first(owner, fence)
  if refusal then
    return refusal
  end
  if first then
    leave_queue()
    return with_refusal(take())
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
  if join() then
    answer = 'queued'
  elseif not refusal.err:find('OOM', 1, true) then
    return refusal
  end
end
if ahead then
  return with_refusal({answer, digits(now), 'ahead', '', '-1'})
end
local state, text = public(value)
return with_refusal({answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))})
