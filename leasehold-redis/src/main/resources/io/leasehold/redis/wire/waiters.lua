-- waiters.lua, Leasehold wire format 1
-- Tells who waits for a lock, first come first; writes nothing.
--
-- KEYS (both in one slot)
--   1  waiters
--   2  asked
-- ARGV
--   1  limit: the most that are told
-- Replies (numbers are decimal strings; now is TIME in us)
--   {now, since, holder id, since, holder id ...}
--       since: the waiter's arrival in us. Waiters that count as dead are left out.
-- Errors
--   Redis' own (WRONGTYPE if a key holds something else)

local WAITERS, ASKED = KEYS[1], KEYS[2]

-- shared: numbers

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local limit = number_in(ARGV[1])

local reply = {digits(now)}
local places = redis.call('ZRANGEBYSCORE', WAITERS, '1', '+inf', 'WITHSCORES')
for i = 1, #places, 2 do
  if #reply > 2 * limit then
    break
  end
  local waiter = places[i]:sub(2)
  local alive = redis.call('ZSCORE', WAITERS, 'a' .. waiter)
  if alive and -tonumber(alive) > now then
    local asked = redis.call('HGET', ASKED, waiter)
    reply[#reply + 1] = digits(tonumber(places[i + 1]))
    reply[#reply + 1] = (asked or ''):match('^%S+ %d+ %d+ (.*)$') or ''
  end
end
return reply
