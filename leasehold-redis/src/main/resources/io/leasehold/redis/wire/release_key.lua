-- release_key.lua, Leasehold wire format 2
-- Deletes the lock if this owner token holds it, and does nothing else. It is for a slot of a Cluster that moves to another
-- master: its keys are at two servers, and no script may name keys of both. raise_fence.lua runs before it, release.lua after.
--
-- KEYS
--   1  lock
-- ARGV
--   1  owner token, 40 lower-case hexadecimal digits
-- Replies
--   {"released"}      this owner token held the lock, and no longer does
--   {"not-ours"}      this owner token did not hold the lock
-- Errors
--   Those of Redis; the lock is then unchanged

local value = redis.call('MGET', KEYS[1])[1]
if value and value:sub(1, 41) == ARGV[1] .. ':' then
  redis.call('DEL', KEYS[1])
  return {'released'}
end
return {'not-ours'}
