-- release_held.lua, Leasehold wire format 2
-- The common case of release.lua and nothing else: deletes a lock that is held as the caller says and has no waiters. In all
-- other cases nothing is written, and the client runs release.lua.
--
-- KEYS (all in one slot)
--   1  lock
--   2  queued
-- ARGV
--   1  "<owner token>:<ballot>:", with the highest fencing token proposed or granted under that owner token
-- Replies
--   1  this owner token held the lock, with this very fencing token, and no longer does
--   0  release.lua decides
-- Errors
--   Those of Redis; the lock is then unchanged

local call, ours = redis.call, ARGV[1]
local found = call('MGET', KEYS[1], KEYS[2])
local value = found[1]
-- The grant has raised the fence to the token in the value.
if value and not found[2] and value:sub(1, #ours) == ours then
  return call('DEL', KEYS[1])
end
return 0
