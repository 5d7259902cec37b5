-- acquire_all.lua, Leasehold wire format 2
-- Proposes one ballot for several locks. The caller gets all of them if the ballot exceeds every floor and each lock is
-- already the caller's, or free without a queue; otherwise it gets none. The script joins no queue and wakes no client:
-- a caller that has to wait requests one lock after the other, with acquire.lua.
--
-- KEYS (all in one slot), three for each lock i
--   3i-2  lock
--   3i-1  fence
--   3i    queued
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>", the same for all locks
--   2  ttl in ms
--   3  candidate: the fencing token proposed, the same for all locks
--   4  last: candidate + reserve - 1
--   5  retention in us
--   6  bound in us: how far ahead of max(fence, TIME) of every lock a ballot may be
-- Replies (numbers are decimal strings; now is TIME in us); i is the first lock that prevents the grant
--   {"yes", now}                               all locks are the caller's; each fence = last
--   {"stale", now, floor}                      the candidate does not exceed the highest floor
--   {"refused", now, limit}                    last is beyond the lowest limit max(fence, TIME) + bound
--   {"held", now, state, text, pttl, i}        state, text and pttl as in acquire.lua; "ahead": free, but others wait for it
--   {"broken", now, key, type}                 a side key has a foreign value
--   {"version", now, key, theirs, ours}        as acquire.lua
-- Errors
--   Those of Redis. The first write decides: after an error no lock was acquired and no fence was raised.

local candidate, last = tonumber(ARGV[3]), tonumber(ARGV[4])
local retention, bound = tonumber(ARGV[5]), tonumber(ARGV[6])
local owner = ARGV[1]:sub(1, 40)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local LOCK

-- shared: numbers

-- shared: version

-- shared: holder

-- Read everything first, so that either all locks are written or none.
local values, floor, limit, obstacle = {}, now - retention, nil, nil
for i = 1, #KEYS, 3 do
  local value, fence_text, queued = unpack(redis.call('MGET', KEYS[i], KEYS[i + 1], KEYS[i + 2]))
  local fence = number_in(fence_text)
  -- MGET returns nothing for a key of another type.
  if not fence or (not fence_text and redis.call('EXISTS', KEYS[i + 1]) == 1) then
    return {'broken', digits(now), KEYS[i + 1], redis.call('TYPE', KEYS[i + 1]).ok}
  end
  floor = math.max(floor, fence)
  limit = math.min(limit or math.huge, math.max(fence, now) + bound)
  values[i] = value
  local own = value and value:sub(1, 41) == owner .. ':'
  if not own and not obstacle then
    if value or redis.call('EXISTS', KEYS[i]) == 1 then
      obstacle = {i}
    elseif queued then
      obstacle = {i, queued}
    end
  end
end

if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
if last > limit then
  return {'refused', digits(now), digits(limit)}
end
if obstacle then
  local i, queue = obstacle[1], obstacle[2]
  local number = digits((i + 2) / 3)
  if queue and not head_of(queue) then
    return not_a_queue(KEYS[i + 2], queue)
  elseif queue then
    return {'held', digits(now), 'ahead', '', '-1', number}
  end
  LOCK = KEYS[i]
  local state, text = public(values[i])
  return {'held', digits(now), state, text, digits(redis.call('PTTL', LOCK)), number}
end

local ms = digits(math.ceil((math.max(last, now) + retention - now) / 1000))
for i = 1, #KEYS, 3 do
  local ttl = math.max(tonumber(ARGV[2]), values[i] and redis.call('PTTL', KEYS[i]) or 0)
  redis.call('SET', KEYS[i], ARGV[1], 'PX', digits(ttl))
  redis.call('SET', KEYS[i + 1], ARGV[4], 'PX', ms)
end
return {'yes', digits(now)}
