-- plain_acquire.lua, Leasehold wire format 2
-- Acquires a lock without a fence and without a queue, as SET NX PX does, for a client that does not know whether an earlier
-- SET of the same owner token has arrived. A key that is already the caller's is kept for a ttl from now on, and never for
-- less than its remaining ttl.
--
-- KEYS
--   1  lock
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>::<holder id>"
--   2  ttl in ms
-- Replies
--   {1}  the lock is the caller's
--   {0}  another client or program has the key
-- Errors
--   Those of Redis; the lock is then unchanged

local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and not value.err:find('WRONGTYPE', 1, true) then
  return {err = value.err .. " (at the 'get' command)"}
end
if value == ARGV[1] then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {1}
end
return {redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') and 1 or 0}
