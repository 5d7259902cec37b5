-- read_acquire.lua, Leasehold wire format 2
-- Proposes a ballot for a reader. The caller becomes a reader of the lock if the ballot exceeds the floor of readers, no writer
-- holds the lock, and no writer waits before it; otherwise it may join the queue of waiters.
--
-- KEYS (all in one slot)
--   1  lock, 2  fence, 3  queued, 4  behind, 5  wanted, 6  readers: as in acquire.lua
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>", 2  ttl in ms, 3  candidate, 4  last, 5  place in ms, 6  channel,
--   7  claim in ms, 8  run id: as in acquire.lua; 5 to 8 may be absent
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"yes", now}                                the caller is a reader of the lock; fence >= last
--   {"stale", now, floor}                       the candidate does not exceed the floor of readers
--   {"refused", now, limit}, {"held", ...}, {"queued", ...}, {"broken", ...}, {"version", ...}: as acquire.lua
--   A reply may end with "besides", error: the command that was refused while others were served
--   A grant also serves the readers behind the caller.
-- Errors
--   Those of Redis. After an error, the caller is no reader unless it was one before.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in acquire.lua

local LOCK, FENCE, QUEUED, BEHIND, WANTED, READERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local RUN_ID = ARGV[8]
local owner, candidate, last = ARGV[1]:sub(1, 40), tonumber(ARGV[3]), tonumber(ARGV[4])
local holder = ARGV[1]:match('^[^:]*:[^:]*:([^\n]*)') or ''
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

-- shared: numbers

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return broken(FENCE)
end

-- shared: attempts

-- shared: version

-- shared: put

-- shared: queue

-- shared: readers

-- A reader that may not do this could not be ended: it is refused before it waits or holds. The key is absent or no hash.
try('HGETALL', QUEUED)
local found = try('HMGET', READERS, 'all', owner)
if not found or refusal then
  return refusal or broken(READERS)
end
know(found[1], fence)
local floor = math.max(read_floor, now - RETENTION)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + BOUND
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

-- shared: grant_reader

local own_ends, token
if readers_end > 0 then
  own_ends, token = live(found[2])
end
if not read_queue() and not own_ends then
  return not_a_queue(QUEUED, queued)
end

local is_open = readers_end > 0 or ours or (not value and redis.call('EXISTS', LOCK) == 0)
local is_next = is_open
local ahead = false
local serve_others
if queued and is_open then

-- shared: tell

-- shared: handed

-- shared: serve_readers

-- shared: serve

  serve_others = serve_first
  if not own_ends then
    local raised
    is_next, raised = serve_first(owner, fence, true)
    fence = raised or fence
    if refusal then
      if ours then
        redis.call('DEL', LOCK)
      end
      return refusal
    end
    ahead = not is_next and not handed and is_freed()
  end
end
if is_next then
  local granted = grant_reader(own_ends or 0, math.max(candidate, tonumber(token or 0)), not queued and not own_ends)
  if granted then
    -- The holder no longer waits; those behind it share the lock now.
    forget(owner)
    if serve_others and not is_empty() and not refusal then
      serve_others('', fence, true)
    end
    write_queue()
    return with_refusal({'yes', digits(now)})
  elseif own_ends then
    return refusal or broken(FENCE)
  elseif granted == nil then
    if ours then
      redis.call('DEL', LOCK)
    end
    write_queue()
    return refusal
  end
end
value = redis.call('MGET', LOCK)[1]

-- shared: holder

local answer = 'held'
local place = tonumber(ARGV[5] or 0)
if place > 0 then

-- shared: behind

-- shared: join

  local reserve = digits(last - candidate + 1)
  local joined, key = join(owner, place * 1000, ARGV[6] .. ' r' .. ARGV[7] .. ' ' .. reserve .. ' ' .. holder)
  if joined then
    answer = 'queued'
  elseif joined == false then
    write_queue()
    return broken(key)
  elseif not refusal.err:find('OOM', 1, true) then
    write_queue()
    return refusal
  end
else
  write_queue()
end
if ahead then
  return with_refusal({answer, digits(now), 'ahead', '', '-1'})
end
local state, text = public(value)
return with_refusal({answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))})
