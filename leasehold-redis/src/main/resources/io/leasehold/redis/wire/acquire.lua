-- acquire.lua, Leasehold wire format 2
-- Proposes a ballot. The caller gets the lock if the ballot exceeds the floor and the lock is free or already the
-- caller's; otherwise it may join the queue of waiters.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  behind
--   5  wanted
--   6  readers: see shared/readers.lua; used only if readers hold the lock or wait
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"; the owner token is 40 lower-case hexadecimal digits
--   2  ttl in ms
--   3  candidate: the fencing token proposed
--   4  last: candidate + reserve - 1; without it, the candidate
--   5  place in ms: how long a place in the queue is kept without a new request; absent or 0: the caller does not wait
--   6  channel on which the caller is notified
--   7  claim in ms: how long the caller keeps the lock after a hand-over; 0: the caller is only woken
--   8  run id of this server, from a client whose connection is proved to lead to it; absent or "volatile": the script reads it
-- Replies (numbers are decimal strings; now is TIME in us)
--   {s, us}                                     the lock is the caller's, fence = last; s and us are the two parts of TIME
--   {"yes", now}                                the same, if others wait or the lock was already the caller's
--   {"stale", now, floor}                       the candidate does not exceed the floor
--   {"refused", now, limit}                     last is beyond the limit max(fence, TIME) + bound
--   {"held", now, state, text, pttl}            the lock is not the caller's, and the caller is not in the queue
--   {"queued", now, state, text, pttl}          the lock is not the caller's; the caller is in the queue
--       state "lock": text is "<token>:<holder id>" of the holder; "foreign": another program wrote the key, and text is
--       its type; "ahead": the lock is free, but others wait before the caller. pttl in ms, -1 if the key does not expire.
--       The script first hands a free lock to its first waiter, which is then the holder.
--   {"broken", now, key, type}                  a side key has a foreign value
--   {"version", now, key, theirs, ours}         the queue at this key is of another version of the wire format
--   If others wait for the lock, the reply may end with "besides", error: the command that was refused while they were served
-- Errors
--   Those of Redis (OOM, READONLY, NOPERM ...). The first write decides; after an error the lock is unchanged.
--   If the right +pttl is missing, a place in the queue may remain after the error, until it counts as dead.

local RETENTION = 60000000 -- us: the floor is never below TIME - RETENTION, and the fence stays until max(fence, TIME) + RETENTION
local BOUND = 7500000 -- us: how far ahead of max(fence, TIME) a ballot may be

local LOCK, FENCE, QUEUED, BEHIND, WANTED, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local RUN_ID = ARGV[8]
local last_text = ARGV[4] or ARGV[3]
local candidate, last = tonumber(ARGV[3]), tonumber(last_text)

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

-- The common case: the lock is free, no client waits, and the ballot is acceptable. It precedes all functions, since
-- creating them takes the server as long again.
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

local owner = ARGV[1]:sub(1, 40)
local place = tonumber(ARGV[5] or 0)
local fence_ms = digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000))

-- shared: attempts

-- shared: version

-- shared: put

-- shared: queue

-- shared: holder

if value and value:sub(1, 41) == owner .. ':' then
  local ttl = digits(math.max(tonumber(ARGV[2]), redis.call('PTTL', LOCK)))
  if not put(FENCE, last_text, fence_ms, not fence_text) then
    return refusal or broken(FENCE)
  end
  if not put(LOCK, ARGV[1], ttl, false) then
    return refusal
  end
  -- The holder no longer waits.
  if read_queue() then
    forget(owner)
    write_queue()
  end
  return with_refusal({'yes', digits(now)})
end

if not read_queue() then
  return not_a_queue(QUEUED, queued)
end

-- shared: readers

local ahead = false
if value == MARKER or (queued and not value) then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end

-- shared: tell

-- shared: handed

-- shared: serve_readers

-- shared: serve

  if value == MARKER then
    know_readers(fence)
  end
  -- Only a waiter that can still be notified gets the lock before the caller.
  local first = serve_first(owner, fence)
  if refusal then
    if ours then
      redis.call('DEL', LOCK)
    end
    return refusal
  end
  if first and put(LOCK, ARGV[1], ARGV[2], not ours) then
    if not put(FENCE, last_text, fence_ms, not fence_text) then
      redis.call('DEL', LOCK)
      return refusal or broken(FENCE)
    end
    forget(owner)
    write_queue()
    return with_refusal({'yes', digits(now)})
  elseif refusal then
    return refusal
  end
  ahead = not handed and is_freed()
  value = redis.call('MGET', LOCK)[1]
end

local answer = 'held'
if place > 0 then

-- shared: behind

-- shared: join

  local holder = ARGV[1]:match('^[^:]*:[^:]*:([^\n]*)') or ''
  local reserve = digits(last - candidate + 1)
  local joined, key = join(owner, place * 1000, ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. reserve .. ' ' .. holder)
  if joined then
    answer = 'queued'
  elseif joined == false then
    write_queue()
    return broken(key)
  elseif not refusal.err:find('OOM', 1, true) then
    write_queue()
    return refusal
  end
else
  write_queue()
end
if ahead then
  return with_refusal({answer, digits(now), 'ahead', '', '-1'})
end
local state, text = public(value)
return with_refusal({answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))})
