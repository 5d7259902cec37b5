-- waiters.lua, Leasehold wire format 2
-- Reads the waiters for a lock, in the order of their arrival; writes nothing.
--
-- KEYS
--   1  queued
--   2  behind
--   3  wanted
-- ARGV
--   1  limit: the maximum number of waiters in the reply
-- Replies (numbers are decimal strings; now is TIME in us)
--   {now, since, holder id, since, holder id ...}
--       since: the waiter's arrival in us. Waiters that count as dead are left out.
--   {"broken", now, key, type}, {"version", now, key, theirs, ours}: as acquire.lua
-- Errors
--   Those of Redis (WRONGTYPE if the key has a foreign value)

local QUEUED, BEHIND, WANTED = KEYS[1], KEYS[2], KEYS[3]

-- shared: numbers

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: version

local reply = {digits(now)}
local queued = redis.call('GET', QUEUED)
if not queued then
  return reply
end
local _, _, behind, from = head_of(queued)
if not from then
  return not_a_queue(QUEUED, queued)
end
local most = 1 + 2 * number_in(ARGV[1])

local function tell_of(arrival, alive, holder)
  if #reply < most and alive and tonumber(alive) > now then
    reply[#reply + 1] = arrival
    reply[#reply + 1] = holder
  end
end

for arrival, alive, holder in queued:gmatch('\n%S+ (%d+) (%d+) %S+ r?%d+ %d+ ([^\n]*)') do
  tell_of(arrival, alive, holder)
end
local skipped = 0
while behind > now and #reply < most do
  local found = redis.call('ZRANGEBYSCORE', BEHIND, '1', '+inf', 'WITHSCORES', 'LIMIT', digits(skipped), '500')
  if #found == 0 then
    break
  end
  local owners = {}
  for i = 1, #found, 2 do
    owners[#owners + 1] = found[i]:sub(2)
  end
  for i, line in ipairs(redis.call('HMGET', WANTED, unpack(owners))) do
    if line then
      tell_of(digits(tonumber(found[2 * i])), line:match('^(%d+) %S+ r?%d+ %d+ ([^\n]*)'))
    end
  end
  skipped = skipped + #owners
end
return reply
