-- permits_change.lua, Leasehold wire format 2
-- Changes the number of permits on behalf of an operator, if no other operator or client was faster, and hands slots that are
-- free then to the first waiters. Slots from the new number on stay until their holders end them.
--
-- KEYS (all in one slot of a Cluster)
--   1  permits, 2  queued, 3  behind, 4  wanted, 5  lock, 6  its fence: as in permits_acquire.lua
-- ARGV (numbers are decimal strings)
--   1  the new number
--   2  the version that the operator has read; 0: the name has no number yet
-- Replies
--   {"changed"}, {"kept"}: may end with "besides", error
--   {"lock", now}: as permits_acquire.lua, if the name has no number yet
--   {"broken", now, key, type}: as acquire.lua
-- Errors
--   Those of Redis; nothing is written then

local RETENTION = 60000000 -- us: as in acquire.lua

local PERMITS, QUEUED, BEHIND, WANTED, LOCK, LOCK_FENCE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local time, RUN_ID = redis.call('TIME'), nil
local now = time[1] * 1000000 + time[2]
local queued = redis.call('MGET', QUEUED)[1]

-- shared: numbers

-- shared: attempts

-- shared: version

-- shared: tell

-- shared: put

-- shared: queue

-- shared: permits

-- shared: handed

-- shared: serve_permits

if not read_permits() then
  return not_permits()
end
if version ~= tonumber(ARGV[2]) then
  return {'kept'}
end
if version == 0 and redis.call('EXISTS', LOCK, LOCK_FENCE) > 0 then
  return {'lock', digits(now)}
end
count, version = tonumber(ARGV[1]), math.max(version + 1, FIRST_OF_OPERATORS)
redis.call('HSET', PERMITS, 'count', count_text())
expire()
if read_queue() then
  serve_permits('')
  write_queue()
end
clean_permits()
return with_refusal({'changed'})
