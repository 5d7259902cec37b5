-- member_resume.lua, Leasehold wire format 2
-- Continues an exported lease at a member of a set of nodes: as resume.lua, after the checks of member_acquire.lua. It runs
-- twice. First it votes: the swap does not move the end of the lock, since nothing may outlive the claim of a ticket that
-- another caller may win. Once the caller has the votes of a quorum, the ttl replaces the rest of the claim.
--
-- KEYS
--   1  lock
--   2  fence
--   3  marker: as in member_acquire.lua
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"; the owner token is drawn by the caller
--   2  ttl in ms; 0: the caller votes
--   3  candidate: the fencing token proposed
--   4  owner token of the ticket
--   5  retention in us
--   6  bound in us
--   7  configuration of the set as the caller knows it
--   8  estimate in us: the clock of the set, from which the candidate was derived
--   9  quarantine in us: the age of its memory from which on the node grants
--  10  life: as argument 13 of member_acquire.lua
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"unborn", now, nonce}, {"other", now, configuration}, {"young", now, left}: as member_acquire.lua
--   {"yes", now}, {"stale", now, floor}, {"refused", now, limit}, {"broken", now, key, type},
--   {"not-ours", now, state, text, pttl}: as resume.lua
-- Errors
--   Those of Redis (READONLY, NOPERM ...). The lock is then unchanged. Lack of memory does not fail a swap.

local LOCK, FENCE, BIRTH = KEYS[1], KEYS[2], KEYS[3]
local candidate = tonumber(ARGV[3])
local retention = tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type.
local value, fence_text, marker = unpack(redis.call('MGET', LOCK, FENCE, BIRTH))

-- shared: numbers

-- shared: life

-- shared: member

-- shared: holder

local refused = not_a_member(marker, ARGV[7], ARGV[8], ARGV[9], ARGV[10])
if refused then
  return refused
end

local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return {'broken', digits(now), FENCE, redis.call('TYPE', FENCE).ok}
end
local floor = math.max(fence, now - retention)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + tonumber(ARGV[6])
if candidate > limit then
  return {'refused', digits(now), digits(limit)}
end

local holds = value and value:sub(1, 41)
local left = redis.call('PTTL', LOCK)
if holds and (holds == ARGV[4] .. ':' or holds == ARGV[1]:sub(1, 41)) then
  -- This changes nothing, but it must be the first write: after it, Redis no longer refuses the script for lack of memory.
  redis.call('PEXPIRE', LOCK, digits(math.max(1, left)))
  redis.call('SET', FENCE, ARGV[3], 'PX', digits(math.ceil((math.max(candidate, now) + retention - now) / 1000)))
  redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2] == '0' and digits(math.max(1, left)) or ARGV[2])
  return {'yes', digits(now)}
end
if left == -2 then
  return {'not-ours', digits(now), 'free', '', '-1'}
end
local state, text = public(value)
return {'not-ours', digits(now), state, text, digits(left)}
