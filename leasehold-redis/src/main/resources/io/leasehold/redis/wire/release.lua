-- release.lua, Leasehold wire format 2
-- Ends an owner token: forgets its place in the queue, deletes the lock if it holds it, and raises the fence to its
-- highest ballot, so that no late copy of its requests is granted. If the lock is free then, hands it to the first waiter.
-- Release, undo and withdrawal are this one script; repeating it is harmless.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  behind
--   5  wanted
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
-- Replies
--   {"released"}      the lock was held by this owner token and is not any more
--   {"not-ours"}      it was not
--   Each may end with "besides", error: what was refused while the first waiter was served
-- Errors
--   Redis' own (NOREPLICAS, MISCONF, NOPERM ...); then the lock is as it was, and the owner token is not ended: to be
--   repeated. Lack of memory refuses nothing.
-- A queue of another version of the wire format is left alone; its waiters find the lock free when they ask again.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: the fence is raised to at most max(fence, TIME) + this

local LOCK, FENCE, QUEUED, BEHIND, WANTED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner = ARGV[1]
-- MGET is silent about keys of other types.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

local released = value and value:sub(1, 41) == owner .. ':'
-- The grant of the token in the value has raised the fence to it; only a higher ballot needs more.
if released and not queued and value:sub(42, 42 + #ARGV[2]) == ARGV[2] .. ':' then
  redis.call('DEL', LOCK)
  return {'released'}
end

local ballot = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

-- shared: attempts

-- shared: version

-- shared: tell

-- shared: queue

-- shared: serve

local fence = number_in(fence_text)
if fence and not fence_text and redis.call('EXISTS', FENCE) == 1 then
  fence = nil
end
local stored = fence
if fence then
  local raised = math.min(ballot, math.max(fence, now) + BOUND)
  -- What does not beat TIME - RETENTION is refused without a fence.
  if raised > math.max(fence, now - RETENTION) then
    fence = raised
  end
end

ours = released
if read_queue() then
  forget(owner)
  if not released and behind > 0 then

-- shared: behind

    leave_behind(owner)
  end
  -- Where the fence is not ours nobody is granted anything.
  if fence and not is_empty() and (released or not value) then
    serve_first(owner, fence)
  end
end
if ours then
  redis.call('DEL', LOCK)
end
if fence and fence > stored and not handed then
  put(FENCE, digits(fence), digits(math.ceil((math.max(fence, now) + RETENTION - now) / 1000)), not fence_text)
end
write_queue()
if refusal and not released then
  return refusal
end
return with_refusal({released and 'released' or 'not-ours'})
