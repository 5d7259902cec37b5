-- member_read_downgrade.lua, Leasehold wire format 2
-- Makes a reader of a writer at a member of a set of nodes: as read_downgrade.lua, after the checks of member_acquire.lua. It wakes
-- no client: the end of the writer's owner token follows at each node, and wakes those that come first. Those that wait keep out
-- neither the writer nor the reader.
--
-- KEYS (all in one slot)
--   1  lock, 2  fence, 3  marker: as in member_resume.lua
--   4  readers: as in acquire.lua
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"; the owner token is drawn for the reader
--   2  ttl in ms, 3  candidate, 4  last: as in member_acquire.lua
--   5  owner token of the writer
--   6  retention in us, 7  bound in us
--   8  configuration, 9  estimate in us, 10  quarantine in us, 11  life: as in member_acquire.lua
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"unborn", now, nonce}, {"other", now, configuration}, {"young", now, left}: as member_acquire.lua
--   {"yes", now}, {"stale", now, floor}, {"refused", now, limit}, {"not-ours", now, state, text, pttl}, {"broken", now, key, type}:
--   as read_downgrade.lua
-- Errors
--   Those of Redis. The writer then still has the lock, or the caller is a reader. Lack of memory does not fail the script.

local LOCK, FENCE, BIRTH, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, candidate, last = ARGV[1]:sub(1, 40), tonumber(ARGV[3]), tonumber(ARGV[4])
local holder = ARGV[1]:match('^[^:]*:[^:]*:([^\n]*)') or ''
local RETENTION, BOUND = tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type.
local value, fence_text, marker = unpack(redis.call('MGET', LOCK, FENCE, BIRTH))

-- Whether LOCK has the value of readers, of which none is left.
local ours = false
-- A member hands nothing over.
local handed = false

-- shared: numbers

-- shared: life

-- shared: member

local refused = not_a_member(marker, ARGV[8], ARGV[9], ARGV[10], ARGV[11])
if refused then
  return refused
end

-- shared: attempts

-- shared: put

-- shared: readers

-- shared: holder

-- shared: downgrade

return swap(ARGV[5]) or with_refusal({'yes', digits(now)})
