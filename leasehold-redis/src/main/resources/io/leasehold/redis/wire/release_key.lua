-- release_key.lua, Leasehold wire format 2
-- Deletes the lock if it is held by this owner token, and does nothing else: for a slot of a Cluster that is being moved, where no
-- script may name keys that are at two servers. raise_fence.lua goes before it, release.lua after it.
--
-- KEYS
--   1  lock
-- ARGV
--   1  owner token, 40 lower-case hexadecimal digits
-- Replies
--   {"released"}      the lock was held by this owner token and is not any more
--   {"not-ours"}      it was not
-- Errors
--   Redis' own; then the lock is as it was

local value = redis.call('MGET', KEYS[1])[1]
if value and value:sub(1, 41) == ARGV[1] .. ':' then
  redis.call('DEL', KEYS[1])
  return {'released'}
end
return {'not-ours'}
