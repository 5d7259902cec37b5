-- force_release.lua, Leasehold wire format 1
-- Takes a lock away from whoever holds it, for operators. The fence is raised to TIME with it, so that a resource that
-- checks tokens refuses the old holder once a new one has come. Hands the lock to the first waiter.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
--   5  asked
-- ARGV (numbers are decimal strings)
--   1  whose hold is to go: a holder id, or empty for whoever it is; "foreign client" names every stranger
-- Replies
--   {"removed"}        a hold is gone; may end with "besides", error: what was refused while the first waiter was served
--   {"none"}           the lock was free, or held by somebody else than ARGV[1]
--   {"foreign", type}  the lock is not a string, or the fence not a number, so not of any client: nothing is touched
-- Errors
--   Redis' own; nothing is written then

local RETENTION = 60000000 -- us: as in acquire.lua

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local wanted = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

-- shared: attempts

-- shared: tell

-- shared: queue

-- shared: holder

if redis.call('EXISTS', LOCK) == 0 then
  return {'none'}
end
local value, fence_text = unpack(redis.call('MGET', LOCK, FENCE))
local state, text = public(value)
if not value then
  return {'foreign', text}
end
local holder = state == 'lock' and text:match('^%d*:(.*)$') or 'foreign client'
if wanted ~= '' and wanted ~= holder then
  return {'none'}
end
local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return {'foreign', redis.call('TYPE', FENCE).ok}
end

-- One script is one step, so the order is not seen; after a deletion lack of memory refuses nothing.
redis.call('DEL', LOCK)
local raised = math.max(fence, now)
redis.call('SET', FENCE, digits(raised), 'PX', digits(math.ceil((raised + RETENTION - now) / 1000)))
serve_first('', raised)
return with_refusal({'removed'})
