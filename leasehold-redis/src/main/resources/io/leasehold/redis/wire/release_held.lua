-- release_held.lua, Leasehold wire format 2
-- The common case of release.lua and nothing else: deletes a lock that is held as the caller says, and that nobody waits for. In all other
-- cases nothing is written; the owner token is to be ended with release.lua.
--
-- KEYS (all in one slot)
--   1  lock
--   2  queued
-- ARGV
--   1  "<owner token>:<ballot>:", with the highest fencing token proposed or granted under that owner token
-- Replies
--   1  it was held by this owner token, with this very token, and is not any more
--   0  release.lua decides
-- Errors
--   Redis' own; the lock is then as it was

local call, ours = redis.call, ARGV[1]
local found = call('MGET', KEYS[1], KEYS[2])
local value = found[1]
-- The grant of the token in the value has raised the fence to it.
if value and not found[2] and value:sub(1, #ours) == ours then
  return call('DEL', KEYS[1])
end
return 0
