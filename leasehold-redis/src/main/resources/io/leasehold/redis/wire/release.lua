-- release.lua, Leasehold wire format 2
-- Ends an owner token: removes its place in the queue, deletes the lock if the token holds it, and raises the fence to its
-- highest ballot, so that no late copy of its requests can be granted. If the lock is free then, hands it to the first waiter.
-- Release, undo and withdrawal all run this script; repeating it is harmless.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  behind
--   5  wanted
--   6  readers: see shared/readers.lua; used only if a reader waits
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
--   3  run id of this server, as in acquire.lua
-- Replies
--   {"released"}      this owner token held the lock, and no longer does
--   {"not-ours"}      this owner token did not hold the lock
--   Each may end with "besides", error: the command that was refused while the first waiter was served
-- Errors
--   Those of Redis (NOREPLICAS, MISCONF, NOPERM ...). The lock is then unchanged and the owner token not ended: the client
--   must repeat the release. Lack of memory does not fail the script.
-- A queue of another version of the wire format is not changed; its waiters find the lock free at their recheck.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: the fence is raised to at most max(fence, TIME) + BOUND

local LOCK, FENCE, QUEUED, BEHIND, WANTED, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, RUN_ID = ARGV[1], ARGV[3]
-- MGET returns nothing for a key of another type.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

local released = value and value:sub(1, 41) == owner .. ':'
-- The grant has raised the fence to the token in the value; only a higher ballot needs a further write.
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

-- shared: put

-- shared: queue

-- shared: handed

-- shared: readers

-- shared: serve_readers

-- shared: serve

local fence = number_in(fence_text)
if fence and not fence_text and redis.call('EXISTS', FENCE) == 1 then
  fence = nil
end
local stored = fence
if fence then
  local raised = math.min(ballot, math.max(fence, now) + BOUND)
  -- A ballot that does not exceed TIME - RETENTION is refused even without a fence.
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
  -- If another program wrote the fence, the lock is not granted to any waiter.
  if fence and not is_empty() and (released or not value or value == MARKER) then
    if value == MARKER then
      know_readers(fence)
    end
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
