-- release.lua, Leasehold wire format 1
-- Ends an owner token: forgets its place in the queue, deletes the lock if it holds it, and raises the fence to its
-- highest ballot, so that no late copy of its requests is granted. If the lock is free then, hands it to the first waiter.
-- Release, undo and withdrawal are this one script; repeating it is harmless.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
--   5  asked
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
-- Replies
--   {"released"}      the lock was held by this owner token and is not any more
--   {"not-ours"}      it was not
--   Each may end with "besides", error: what was refused while the first waiter was served
-- Errors
--   Redis' own (NOREPLICAS, MISCONF, NOPERM ...); then the lock is as it was, and the owner token is not ended: to be
--   repeated. A deletion is not refused for lack of memory, nor is anything after it.
--   Where +exists is missing the lock may be gone already, and the next waiter is not served.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: the fence is raised to at most max(fence, TIME) + this

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner = ARGV[1]
local value, queued = unpack(redis.call('MGET', LOCK, QUEUED))

local released = value and value:sub(1, 41) == owner .. ':'
if released then
  redis.call('DEL', LOCK)
  -- The grant of the token in the value has raised the fence to it; only a higher ballot needs more.
  if not queued and value:sub(42, 42 + #ARGV[2]) == ARGV[2] .. ':' then
    return {'released'}
  end
end

local ballot = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

-- shared: attempts

-- shared: tell

-- shared: queue

-- Also where nothing waits: from a script that has written, memory is not refused any more; and where writes are refused, this
-- is the one that says so.
forget(owner)

local fence_text = redis.call('MGET', FENCE)[1]
local fence = number_in(fence_text)
if fence and not fence_text and redis.call('EXISTS', FENCE) == 1 then
  fence = nil
end
if fence then
  local raised = math.min(ballot, math.max(fence, now) + BOUND)
  -- What does not beat TIME - RETENTION is refused without a fence.
  if raised > math.max(fence, now - RETENTION) then
    local ms = digits(math.ceil((math.max(raised, now) + RETENTION - now) / 1000))
    try('SET', FENCE, digits(raised), 'PX', ms)
    fence = raised
  end
end
if refusal and not released then
  return refusal
end

-- Where the fence is not ours nobody is granted anything.
if fence and queued and redis.call('EXISTS', LOCK) == 0 then
  serve_first(owner, fence)
end
if refusal and not released then
  return refusal
end
return with_refusal({released and 'released' or 'not-ours'})
