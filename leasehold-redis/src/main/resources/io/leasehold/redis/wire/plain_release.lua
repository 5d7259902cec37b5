-- plain_release.lua, Leasehold wire format 2
-- Compare-and-delete, for servers without such a command: deletes the lock if it has exactly this value.
--
-- KEYS
--   1  lock
-- ARGV
--   1  value
-- Replies
--   {1}  it was deleted
--   {0}  it has another value, is of another type, or does not exist
-- Errors
--   Those of Redis; the lock is then unchanged

local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and not value.err:find('WRONGTYPE', 1, true) then
  return {err = value.err .. " (at the 'get' command)"}
end
if value == ARGV[1] then
  return {redis.call('DEL', KEYS[1])}
end
return {0}
