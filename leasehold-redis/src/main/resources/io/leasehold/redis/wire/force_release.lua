-- force_release.lua, Leasehold wire format 2
-- Removes a lock from its holder on behalf of an operator. It also raises the fence to TIME, so that a resource that
-- checks tokens refuses the old holder once a new one has used it. Hands the lock to the first waiter.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  behind
--   5  wanted
--   6  readers: see shared/readers.lua; used only if a reader waits
-- ARGV (numbers are decimal strings)
--   1  the holder whose hold is removed: an id, or empty for any holder; "foreign client" names every foreign one
-- Replies
--   {"removed"}        a hold is gone; may end with "besides", error: the command that was refused while the first waiter was served
--   {"none"}           the lock was free, or its holder is another than ARGV[1]
--   {"readers"}        readers hold the lock: nothing is changed, and read_force_release.lua removes them
--   {"foreign", type}  the lock is not a string, or the fence not a number, so no client wrote it: nothing is changed
-- Errors
--   Those of Redis; nothing is written then
-- A queue of another version of the wire format is not changed; its waiters find the lock free at their recheck.

local RETENTION = 60000000 -- us: as in acquire.lua

local LOCK, FENCE, QUEUED, BEHIND, WANTED, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local wanted, RUN_ID = ARGV[1], nil
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

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

-- shared: holder

if not value and redis.call('EXISTS', LOCK) == 0 then
  return {'none'}
end
if value == MARKER then
  return {'readers'}
end
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

local raised = math.max(fence, now)
ours = true
if read_queue() then
  serve_first('', raised)
end
if ours then
  redis.call('DEL', LOCK)
end
if not handed then
  put(FENCE, digits(raised), digits(math.ceil((raised + RETENTION - now) / 1000)), not fence_text)
end
write_queue()
return with_refusal({'removed'})
