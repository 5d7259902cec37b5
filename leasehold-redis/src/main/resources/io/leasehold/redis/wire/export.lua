-- export.lua, Leasehold wire format 2
-- Ends an owner token that holds the lock, and keeps the lock for a ticket: the ticket's value takes the place of the
-- holder's, so that no other client can get the lock in between. Raises the fence to the highest ballot of the owner token,
-- even if it does not hold the lock, so that no late copy of its requests can be granted. Repeating the script is harmless:
-- a copy does not extend the claim. The queue is not touched, since the lock stays held.
--
-- KEYS (both in one slot)
--   1  lock
--   2  fence
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it
--   3  value: "<owner token of the ticket>:<fencing token>:<label of the ticket>"
--   4  claim in ms: how long the lock is kept for the ticket; may be shorter than the remaining ttl of the hold. 0: as long as
--      it would have been kept; a claimant returns a vote to the ticket so
-- Replies
--   {"exported"}              the lock is kept for the ticket, and the owner token has ended
--   {"not-ours"}              neither the owner token nor the ticket has the lock
--   {"broken", now, key, type}  a side key has a foreign value
-- Errors
--   Those of Redis (NOREPLICAS, MISCONF, NOPERM ...). The owner token still holds the lock then, and the client must repeat
--   the script. Lack of memory does not fail the script while the owner token holds the lock.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: the fence is raised to at most max(fence, TIME) + BOUND

local LOCK, FENCE = KEYS[1], KEYS[2]
local ballot = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type.
local value, fence_text = unpack(redis.call('MGET', LOCK, FENCE))
local holds = value and value:sub(1, 41)
local ours = holds == ARGV[1] .. ':'

-- shared: numbers

local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return {'broken', digits(now), FENCE, redis.call('TYPE', FENCE).ok}
end
local left
if ours then
  -- This changes nothing, but it must be the first write: after it, Redis no longer refuses the script for lack of memory.
  left = digits(math.max(1, redis.call('PTTL', LOCK)))
  redis.call('PEXPIRE', LOCK, left)
end
local raised = math.min(ballot, math.max(fence, now) + BOUND)
-- A ballot that does not exceed TIME - RETENTION is refused even without a fence.
if raised > math.max(fence, now - RETENTION) then
  redis.call('SET', FENCE, digits(raised), 'PX', digits(math.ceil((math.max(raised, now) + RETENTION - now) / 1000)))
end
if ours then
  redis.call('SET', LOCK, ARGV[3], 'PX', ARGV[4] == '0' and left or ARGV[4])
  return {'exported'}
end
return {holds == ARGV[3]:sub(1, 41) and 'exported' or 'not-ours'}
