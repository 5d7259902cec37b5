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

-- shared: queue

-- shared: readers

-- shared: holder

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return broken(FENCE)
end
-- A reader that may not do this could not be ended. The key is absent or no hash.
try('HGETALL', QUEUED)
local found = try('HMGET', READERS, 'all', owner)
if not found or refusal then
  return refusal or broken(READERS)
end
know(found[1], fence)
local floor = math.max(fence, now - RETENTION)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + BOUND
if last > limit then
  return {'refused', digits(now), digits(limit)}
end
local ends
if readers_end > 0 then
  ends = live(found[2])
end
local left = redis.call('PTTL', LOCK)
local is_writers = value and value:sub(1, 41) == ARGV[5] .. ':'
if not ends and not is_writers then
  if left == -2 then
    return {'not-ours', digits(now), 'free', '', '-1'}
  end
  local state, text = public(value)
  return {'not-ours', digits(now), state, text, digits(left)}
end

-- Each step is harmless without the next, and the lock is the writer's until the last one. The floor of readers is the fence so far,
-- since the writer has raised it.
local lasts = math.max(now + tonumber(ARGV[2]) * 1000, ends or now + (left + 1) * 1000)
local ms = digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000))
if not put(FENCE, digits(last), ms, not fence_text) then
  return refusal or broken(FENCE)
end
fence_text = digits(last)
local entry = digits(lasts) .. ' ' .. digits(candidate) .. ' ' .. holder
if lasts > readers_end and ends and not mark(lasts, false) then
  return refusal
end
if not record(last, math.max(lasts, readers_end), false, owner, entry) then
  return refusal
end
if is_writers then
  if not mark(lasts, false) then
    return refusal
  end
  readers_end = lasts
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
