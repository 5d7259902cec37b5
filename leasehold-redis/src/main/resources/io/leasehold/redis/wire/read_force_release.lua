-- read_force_release.lua, Leasehold wire format 2
-- Removes readers on behalf of an operator. It also raises the fence to TIME, so that a resource that checks tokens refuses the old
-- readers once a new writer has used it, and the floor of readers to that fence. Serves the waiters.
--
-- KEYS (all in one slot)
--   1  lock, 2  fence, 3  queued, 4  behind, 5  wanted, 6  readers: as in acquire.lua
-- ARGV
--   1  the holder whose holds are removed: an id, or empty for all readers
-- Replies
--   {"removed", holder id, holder id ...}  these holds are gone; may end with "besides", error. No id: all readers were to be removed,
--                                          and there was none but the value of readers, which is gone
--   {"none"}                               no such reader holds the lock
--   {"broken", now, key, type}             a side key has a foreign value
-- Errors
--   Those of Redis

local RETENTION = 60000000 -- us: as in acquire.lua

local LOCK, FENCE, QUEUED, BEHIND, WANTED, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local wanted, RUN_ID = ARGV[1], nil
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
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

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return broken(FENCE)
end
local removed = remove_readers(fence, function(_, holder)
  return wanted == '' or wanted == holder
end)
if not removed then
  return refusal or broken(READERS)
end
local answer = {'none'}
local raised = fence
if #removed > 0 or (ours and wanted == '') then
  answer = {'removed', unpack(removed, 1, 1000)}
  -- Both floors: a fence ahead of TIME is the fence of those readers, whose late copies must not be granted either.
  raised = end_at(math.max(now, fence), fence)
end
if refusal then
  return refusal
end
if read_queue() and not is_empty() and (ours or readers_end > 0) then
  serve_first('', raised)
end
if ours then
  redis.call('DEL', LOCK)
end
if raised > fence and not handed then
  put(FENCE, digits(raised), digits(math.ceil((math.max(raised, now) + RETENTION - now) / 1000)), not fence_text)
end
write_queue()
return with_refusal(answer)
