-- member_read_acquire.lua, Leasehold wire format 2
-- Proposes a ballot for a reader to a member of a set of nodes: as read_acquire.lua, after the checks of member_acquire.lua. The
-- caller becomes a reader of the lock if the ballot exceeds the floor of readers, no writer holds the lock, and no writer with an
-- earlier place waits; otherwise it may be woken.
--
-- KEYS (all in one slot)
--   1  lock, 2  fence, 3  watchers, 4  marker, 5  read watchers, 6  readers, 7  readers wait: as in member_acquire.lua
-- ARGV
--   as member_acquire.lua
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"unborn", now, nonce}, {"other", now, configuration}, {"young", now, left}: as member_acquire.lua
--   {"yes", now}                                the caller is a reader of the lock; fence >= last
--   {"stale", now, floor}                       the candidate does not exceed the floor of readers
--   {"refused", now, limit}, {"held", ...}, {"queued", ...}, {"broken", ...}: as member_acquire.lua; state "ahead": no writer holds
--                                               the lock, and a writer that waits comes first
--   Each of these may end with "besides", error: a command that was refused meanwhile
-- Errors
--   Those of Redis. After an error, the caller is no reader unless it was one before.

local LOCK, FENCE, WATCHERS, BIRTH, READ_WATCHERS, READERS, READERS_WAIT = unpack(KEYS)
local owner, candidate, last = ARGV[1]:sub(1, 40), tonumber(ARGV[3]), tonumber(ARGV[4])
local holder = ARGV[1]:match('^[^:]*:[^:]*:([^\n]*)') or ''
local RETENTION = tonumber(ARGV[5])
local WINDOW = 3000000 -- us: as in shared/handed.lua
local channel, order = ARGV[8], ARGV[9]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
local value, fence_text, marker, waits = unpack(redis.call('MGET', LOCK, FENCE, BIRTH, READERS_WAIT))

-- shared: numbers

-- shared: life

-- shared: member

local refused = not_a_member(marker, ARGV[10], ARGV[11], ARGV[12], ARGV[13])
if refused then
  return refused
end

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
  return broken(FENCE)
end

-- Whether LOCK has a value that may be overwritten: that of readers, of which none is left.
local ours = false
-- A member hands nothing over.
local handed = false

-- shared: attempts

-- shared: put

-- shared: readers

-- A reader that may not do this could not be ended: it is refused before it waits or holds. The key is absent or no hash.
try('HGETALL', FENCE)
local found = try('HMGET', READERS, 'all', owner)
if not found or refusal then
  return refusal or broken(READERS)
end
know(found[1], fence)
local floor = math.max(read_floor, now - RETENTION)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + tonumber(ARGV[6])
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

-- shared: grant_reader

-- shared: tell

-- shared: watchers

-- shared: holder

-- shared: watch

local own_ends, token
if readers_end > 0 then
  own_ends, token = live(found[2])
end
local is_open = readers_end > 0 or ours or (not value and redis.call('EXISTS', LOCK) == 0)
if own_ends or (is_open and not is_kept_out(WATCHERS, order, LOCK, readers_end == 0)) then
  local granted = grant_reader(own_ends or 0, math.max(candidate, tonumber(token or 0)), not own_ends)
  if granted then
    -- Only a caller that waits has left its place: the same client may wait with another attempt.
    if tonumber(order) > 1 then
      forget(READ_WATCHERS, channel)
      end_readers_wait()
    end
    return with_refusal({'yes', digits(now)})
  elseif granted == nil then
    if ours then
      redis.call('DEL', LOCK)
    end
    return refusal
  elseif own_ends then
    return broken(FENCE)
  end
end
return not_now(READ_WATCHERS, channel, order, tonumber(ARGV[7]), is_open and readers_end == 0)
