-- plain_acquire.lua, Leasehold wire format 2
-- Takes a lock without fence and queue: what SET NX PX does, for a client that does not know whether an earlier SET of the
-- same owner token has arrived. An own key is kept for a ttl from now on, and never for less than it has left.
--
-- KEYS
--   1  lock
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>::<holder id>"
--   2  ttl in ms
-- Replies
--   {1}  the lock is the caller's
--   {0}  it is somebody else's
-- Errors
--   Redis' own; the lock is then as it was

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
