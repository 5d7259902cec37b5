-- permits_release_key.lua, Leasehold wire format 2
-- Ends an owner token with the record alone, while the slot of a Cluster is being moved: frees its slots and raises the fence.
-- It does not touch the queue; permits_release.lua follows as soon as the keys are at one server again.
--
-- KEYS
--   1  permits: as in permits_acquire.lua
-- ARGV, replies, errors
--   as permits_release.lua

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in release.lua

local PERMITS = KEYS[1]
local owner, ballot = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

-- shared: attempts

-- shared: permits

-- shared: end_owner

if not read_permits() then
  return not_permits()
end
local own = end_owner(owner, ballot)
if refusal and not own then
  return refusal
end
return with_refusal({own and 'released' or 'not-ours'})
