-- read_release.lua, Leasehold wire format 2
-- Ends the owner token of a reader: removes its place in the queue and its hold, and raises the fence and the floor of readers to
-- its highest ballot, so that no late copy of its requests can be granted. Removes the readers that have ended, and lets the lock
-- end with those that are left. Serves the waiters that can share it, or the first one if no reader is left. Release, undo and
-- withdrawal all run this script; repeating it is harmless.
--
-- KEYS (all in one slot)
--   1  lock, 2  fence, 3  queued, 4  behind, 5  wanted, 6  readers: as in acquire.lua
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
--   3  run id of this server, as in acquire.lua
-- Replies
--   {"released"}, {"not-ours"}: as release.lua; may end with "besides", error
--   {"broken", now, key, type}: another program wrote the key of the readers
-- Errors
--   Those of Redis. The owner token may then not be ended: the client must repeat the release. Lack of memory does not fail it.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in release.lua

local LOCK, FENCE, QUEUED, BEHIND, WANTED, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, ballot, RUN_ID = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

-- shared: numbers

-- shared: attempts

-- shared: version

-- shared: put

-- shared: queue

-- shared: readers

-- shared: end_readers

-- shared: tell

-- shared: handed

-- shared: serve_readers

-- shared: serve

-- shared: behind

local fence = number_in(fence_text)
if fence and not fence_text and redis.call('EXISTS', FENCE) == 1 then
  fence = nil
end
local stored = fence
local removed = remove_reader(owner, fence or 0)
if refusal then
  return refusal
end
-- Another program's key ends no reader, but the waiter must not keep its place.
local is_foreign = not removed
local released = removed and #removed > 0
if not refusal then
  local limit = math.max(fence or 0, now) + BOUND
  local raised = end_at(math.min(ballot, limit), fence or 0)
  fence = fence and raised
end
if refusal then
  return refusal
end
if read_queue() then
  forget(owner)
  if not released and behind > 0 then
    leave_behind(owner)
  end
  -- If another program wrote the fence, the lock is not granted to any waiter.
  if fence and not is_empty() and (ours or readers_end > 0 or not value) then
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
if is_foreign then
  return {'broken', digits(now), READERS, redis.call('TYPE', READERS).ok}
end
return with_refusal({released and 'released' or 'not-ours'})
