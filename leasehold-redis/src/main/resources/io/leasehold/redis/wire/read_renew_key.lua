-- read_renew_key.lua, Leasehold wire format 2
-- Keeps a reader for one ttl more with the key of the readers alone, while the slot of a Cluster is being moved. renew.lua runs before
-- it, on the lock with the value of readers: a lock that ended before its last reader would go to a writer.
--
-- KEYS
--   1  readers: as in acquire.lua
-- ARGV and replies: as read_renew.lua, for one reader
-- Errors
--   Those of Redis; the reader then ends as before, or later

local RETENTION_MS = 60000 -- as RETENTION in acquire.lua

local READERS = KEYS[1]
local ttl, owner = tonumber(ARGV[1]), ARGV[2]:sub(1, 40)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

local found = redis.pcall('HMGET', READERS, 'all', owner)
if found.err then
  return found.err:find('WRONGTYPE', 1, true) and {0, 1, 0} or found
end
local floors, latest = (found[1] or ''):match('^(%d+ %d+ )([1-9]%d*)$')
local ends, rest = (found[2] or ''):match('^(%d+)( .*)$')
if not ends or not latest or tonumber(ends) <= now then
  return {0, 1, 0}
end
local later = math.max(now + ttl * 1000, tonumber(ends))
local last = math.max(later, tonumber(latest))
-- This needs no memory; after it, Redis no longer refuses memory to the script.
redis.call('PEXPIRE', READERS, digits(math.ceil((last - now) / 1000) + RETENTION_MS))
redis.call('HSET', READERS, 'all', floors .. digits(last), owner, digits(later) .. rest)
return {1}
