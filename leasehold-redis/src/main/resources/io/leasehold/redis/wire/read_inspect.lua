-- read_inspect.lua, Leasehold wire format 2
-- Lists the readers that hold a lock; writes nothing.
--
-- KEYS (both in one slot)
--   1  lock, 2  readers: as in acquire.lua
-- ARGV
--   1  limit: the maximum number of readers in the reply
-- Replies (numbers are decimal strings)
--   {"readers", text, left, text, left ...}  text is "<token>:<holder id>", left the time of the hold in ms; in no order
--   {"broken", now, key, type}               another program wrote the key of the readers
-- Errors
--   Those of Redis

local LOCK, READERS = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local MARKER = string.rep('0', 40) .. '::readers'

-- shared: numbers

local reply = {'readers'}
if redis.call('MGET', LOCK)[1] ~= MARKER then
  return reply
end
local found = redis.pcall('HGETALL', READERS)
if found.err then
  return found.err:find('WRONGTYPE', 1, true) and {'broken', digits(now), READERS, redis.call('TYPE', READERS).ok} or found
end
local most = 1 + 2 * number_in(ARGV[1])
-- How much later than written the readers end: see know in shared/readers.lua.
local shift = 0
for i = 1, #found, 2 do
  local latest = found[i] == 'all' and found[i + 1]:match(' ([1-9]%d*)$')
  shift = latest and math.max(0, now + redis.call('PTTL', LOCK) * 1000 - tonumber(latest)) or shift
end
for i = 1, #found, 2 do
  local ends, token, holder = found[i + 1]:match('^(%d+) (%d+) (.*)$')
  local left = ends and tonumber(ends) + shift - now
  if found[i] ~= 'all' and ends and left > 0 and #reply < most then
    reply[#reply + 1] = token .. ':' .. holder
    reply[#reply + 1] = digits(math.ceil(left / 1000))
  end
end
return reply
