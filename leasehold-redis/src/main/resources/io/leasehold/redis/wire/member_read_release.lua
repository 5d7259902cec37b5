-- member_read_release.lua, Leasehold wire format 2
-- Ends the owner token of a reader at a member of a set of nodes: as read_release.lua, but without a hand-over. It wakes those that
-- come first, as member_release.lua. Repeating the script is harmless.
--
-- KEYS (all in one slot)
--   1  lock, 2  fence, 3  watchers, 4  read watchers: as in member_acquire.lua
--   5  readers: as in acquire.lua, 6  readers wait: as in member_acquire.lua
-- ARGV
--   as member_release.lua. The script does not notify the releasing client as a reader, even if it is the first
-- Replies
--   {"released"}, {"released", "woken"}, {"not-ours"}, {"clamped", limit}: as member_release.lua; may end with "besides", error
--   {"broken", now, key, type}: another program wrote the key of the readers
-- Errors
--   Those of Redis. The owner token may then not be ended: the client must repeat the release. Lack of memory does not fail it.

local LOCK, FENCE, WATCHERS, READ_WATCHERS, READERS, READERS_WAIT = unpack(KEYS)
local owner, ballot, channel = ARGV[1], tonumber(ARGV[2]), ARGV[5]
local RETENTION, WINDOW = tonumber(ARGV[3]), tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type.
local value, fence_text, waits = unpack(redis.call('MGET', LOCK, FENCE, READERS_WAIT))

-- Whether LOCK has the value of readers, of which none is left.
local ours = false
-- A member hands nothing over.
local handed = false

-- shared: numbers

-- shared: attempts

-- shared: put

-- shared: readers

-- shared: end_readers

-- shared: tell

-- shared: watchers

-- shared: wake

local fence = number_in(fence_text)
if fence and not fence_text and redis.call('EXISTS', FENCE) == 1 then
  fence = nil
end
local removed = remove_reader(owner, fence or 0)
if refusal then
  return refusal
end
-- Another program's key ends no reader, but the waiter must not keep its place.
local is_foreign = not removed
local released = removed and #removed > 0
-- Runs even if the caller stays (no client is named 'q' alone): if Redis refuses writes, this command reports it.
forget(READ_WATCHERS, ARGV[7] == 'leave' and channel or '')
local limit = math.max(fence or 0, now) + tonumber(ARGV[4])
if not refusal then
  local raised = end_at(math.min(ballot, limit), fence or 0)
  if fence and raised > fence then
    put(FENCE, digits(raised), digits(math.ceil((math.max(raised, now) + RETENTION - now) / 1000)), not fence_text)
  end
end
if refusal and not released then
  return refusal
end
if ours then
  redis.call('DEL', LOCK)
end

local woken = false
local is_free = redis.call('EXISTS', LOCK) == 0
if is_free or readers_end > 0 then
  woken = wake_first(is_free, READ_WATCHERS, channel)
end
if refusal and not released then
  return refusal
end
end_readers_wait()
if is_foreign then
  return {'broken', digits(now), READERS, redis.call('TYPE', READERS).ok}
end
if fence and ballot > limit then
  return with_refusal({'clamped', digits(limit)})
end
if released and woken then
  return with_refusal({'released', 'woken'})
end
return with_refusal({released and 'released' or 'not-ours'})
