-- permits_force_release.lua, Leasehold wire format 2
-- Frees a slot on behalf of an operator, with all slots of its owner token. It also raises the fence to TIME, so that a resource
-- that checks tokens refuses the old holder once a new one has used it. Hands the slots to the first waiters.
--
-- KEYS (all in one slot of a Cluster)
--   1  permits, 2  queued, 3  behind, 4  wanted: as in permits_acquire.lua
-- ARGV
--   1  the slot
--   2  the holder whose hold is removed: an id, or empty for any holder
-- Replies
--   {"removed", holder id}, {"none"}: may end with "besides", error
--   {"broken", now, key, type}: as acquire.lua
-- Errors
--   Those of Redis; nothing is written then

local RETENTION = 60000000 -- us: as in acquire.lua

local PERMITS, QUEUED, BEHIND, WANTED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
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
local slot = tonumber(ARGV[1])
local hold = held[slot]
if not hold or (ARGV[2] ~= '' and ARGV[2] ~= hold.holder) then
  return {'none'}
end
free_slots(hold.owner)
fence = math.max(fence, now)
write_permits('fence', digits(fence))
if read_queue() then
  serve_permits('')
  write_queue()
end
clean_permits()
return with_refusal({'removed', hold.holder})
