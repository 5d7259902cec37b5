-- waiters.lua, Leasehold wire format 2
-- Tells who waits for a lock, first come first; writes nothing.
--
-- KEYS
--   1  queued
-- ARGV
--   1  limit: the most that are told
-- Replies (numbers are decimal strings; now is TIME in us)
--   {now, since, holder id, since, holder id ...}
--       since: the waiter's arrival in us. Waiters that count as dead are left out.
--   {"broken", now, key, type}, {"version", now, key, theirs, ours}: as acquire.lua
-- Errors
--   Redis' own (WRONGTYPE if the key holds something else)

local QUEUED = KEYS[1]

-- shared: numbers

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: version

local reply = {digits(now)}
local queued = redis.call('GET', QUEUED)
if not queued then
  return reply
elseif not head_of(queued) then
  return not_a_queue(QUEUED, queued)
end
local most = 1 + 2 * number_in(ARGV[1])
for arrival, alive, holder in queued:gmatch('\n%S+ (%d+) (%d+) %S+ %d+ %d+ ([^\n]*)') do
  if #reply >= most then
    break
  end
  if tonumber(alive) > now then
    reply[#reply + 1] = arrival
    reply[#reply + 1] = holder
  end
end
return reply
