-- read_release_key.lua, Leasehold wire format 2
-- Ends the owner token of a reader with the key of the readers alone, while the slot of a Cluster is being moved. The lock and its
-- queue stay as they are; read_release.lua follows as soon as the keys are at one server again. raise_fence.lua runs before it.
--
-- KEYS
--   1  readers: as in acquire.lua
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
-- Replies
--   {"released"}, {"not-ours"}, {"broken", now, key, type}: as read_release.lua
-- Errors
--   Those of Redis. The owner token may then not be ended.

local READERS = KEYS[1]
local ballot = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

local found = redis.pcall('HMGET', READERS, 'all', ARGV[1])
if found.err then
  return found.err:find('WRONGTYPE', 1, true) and {'broken', digits(now), READERS, redis.call('TYPE', READERS).ok} or found
end
local ended = redis.call('HDEL', READERS, ARGV[1])
local floor, fence, latest = (found[1] or ''):match('^(%d+) (%d+) (%d+)$')
if floor then
  -- A ballot above the fence of this field has raised the fence, which then is the floor.
  if ballot > tonumber(floor) and ballot <= tonumber(fence) then
    floor = digits(ballot)
  end
  -- Without any reader the lock counts as absent, although it still has a ttl.
  if ended == 1 and #redis.call('HGETALL', READERS) == 2 then
    latest = '0'
  end
  local all = floor .. ' ' .. fence .. ' ' .. latest
  if all ~= found[1] then
    redis.call('HSET', READERS, 'all', all)
  end
end
local ends = (found[2] or ''):match('^(%d+) ')
return {ended == 1 and ends and tonumber(ends) > now and 'released' or 'not-ours'}
