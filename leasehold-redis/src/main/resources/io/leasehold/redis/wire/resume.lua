-- resume.lua, Leasehold wire format 2
-- Continues an exported lease: swaps the ticket's value for that of the caller, with a ballot above the floor, and does
-- nothing else. The ttl replaces the claim; a hold that is the caller's already never ends earlier. A free lock is never
-- granted: the ticket was used before, or its claim is over. Repeating the script with the same owner token and a higher
-- ballot is harmless, and finds the lock of the caller.
--
-- KEYS (both in one slot)
--   1  lock
--   2  fence
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"; the owner token is 40 lower-case hexadecimal digits, drawn by the caller
--   2  ttl in ms
--   3  candidate: the fencing token proposed
--   4  owner token of the ticket
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"yes", now}                       the lock is the caller's, fence = candidate; the ticket is used
--   {"stale", now, floor}              the candidate does not exceed the floor
--   {"refused", now, limit}            the candidate is beyond the limit max(fence, TIME) + bound
--   {"not-ours", now, state, text, pttl}  the lock is neither the ticket's nor the caller's: as "held" of acquire.lua; state
--       "free": no client holds it
--   {"broken", now, key, type}         a side key has a foreign value
-- Errors
--   Those of Redis (READONLY, NOPERM ...). The lock is then unchanged. Lack of memory does not fail the script.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in acquire.lua

local LOCK, FENCE = KEYS[1], KEYS[2]
local candidate = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type.
local value, fence_text = unpack(redis.call('MGET', LOCK, FENCE))

-- shared: numbers

-- shared: holder

local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return {'broken', digits(now), FENCE, redis.call('TYPE', FENCE).ok}
end
local floor = math.max(fence, now - RETENTION)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + BOUND
if candidate > limit then
  return {'refused', digits(now), digits(limit)}
end

local holds = value and value:sub(1, 41)
local is_own = holds == ARGV[1]:sub(1, 41)
local left = redis.call('PTTL', LOCK)
if holds and (holds == ARGV[4] .. ':' or is_own) then
  -- This changes nothing, but it must be the first write: after it, Redis no longer refuses the script for lack of memory.
  redis.call('PEXPIRE', LOCK, digits(math.max(1, left)))
  redis.call('SET', FENCE, ARGV[3], 'PX', digits(math.ceil((math.max(candidate, now) + RETENTION - now) / 1000)))
  -- What was left of the claim ends with the ticket: otherwise, it would outlive a holder that crashes.
  redis.call('SET', LOCK, ARGV[1], 'PX', digits(math.max(tonumber(ARGV[2]), is_own and left or 0)))
  return {'yes', digits(now)}
end
if left == -2 then
  return {'not-ours', digits(now), 'free', '', '-1'}
end
local state, text = public(value)
return {'not-ours', digits(now), state, text, digits(left)}
