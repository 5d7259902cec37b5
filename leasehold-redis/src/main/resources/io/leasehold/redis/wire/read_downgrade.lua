-- read_downgrade.lua, Leasehold wire format 2
-- Makes a reader of a writer in one step: no other writer can get the lock in between. If the caller is a reader already, the
-- script extends it. In every other case, even if the lock is free, it changes nothing. Serves the readers at the head of the queue.
-- Repeating the script with the same owner token and a higher ballot is harmless.
--
-- KEYS (all in one slot)
--   1  lock, 2  fence, 3  queued, 4  behind, 5  wanted, 6  readers: as in acquire.lua
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"; the owner token is 40 lower-case hexadecimal digits, drawn for the reader
--   2  ttl in ms, 3  candidate, 4  last: as in acquire.lua
--   5  owner token of the writer
--   6  run id of this server, as in acquire.lua
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"yes", now}                          the caller is a reader of the lock, and its hold ends no earlier than the writer's did
--   {"stale", now, floor}                 the candidate does not exceed the floor of writers
--   {"refused", now, limit}               last is beyond the limit max(fence, TIME) + bound
--   {"not-ours", now, state, text, pttl}  as resume.lua
--   {"broken", now, key, type}            a side key has a foreign value
--   A reply may end with "besides", error: the command that was refused while others were served
-- Errors
--   Those of Redis. The writer then still has the lock, or the caller is a reader. Lack of memory does not fail the script.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in acquire.lua

local LOCK, FENCE, QUEUED, BEHIND, WANTED, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local RUN_ID = ARGV[6]
local owner, candidate, last = ARGV[1]:sub(1, 40), tonumber(ARGV[3]), tonumber(ARGV[4])
local holder = ARGV[1]:match('^[^:]*:[^:]*:([^\n]*)') or ''
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

-- shared: holder

-- shared: downgrade

local refused = swap(ARGV[5])
if refused then
  return refused
end

-- shared: tell

-- shared: handed

-- shared: serve_readers

-- shared: serve

value = MARKER
if read_queue() then
  forget(owner)
  if not is_empty() then
    serve_first(owner, last)
  end
  write_queue()
end
return with_refusal({'yes', digits(now)})
