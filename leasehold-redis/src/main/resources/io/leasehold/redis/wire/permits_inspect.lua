-- permits_inspect.lua, Leasehold wire format 2
-- Reads the permits of a name; writes nothing.
--
-- KEYS
--   1  permits: as in permits_acquire.lua
-- Replies (numbers are decimal strings)
--   {"none"}
--   {"permits", count, version, slot, text, left, slot, text, left ...}
--       for each hold: text is "<token>:<holder id>", left its time in ms
--   {"broken", now, key, type}: as acquire.lua
-- Errors
--   Those of Redis

local PERMITS = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local RETENTION = 60000000 -- us: as in acquire.lua

-- shared: numbers

-- shared: attempts

-- shared: permits

if not read_permits() then
  return not_permits()
end
if count == 0 then
  return {'none'}
end
local reply = {'permits', digits(count), digits(version)}
for slot, hold in pairs(held) do
  reply[#reply + 1] = digits(slot)
  reply[#reply + 1] = hold.token .. ':' .. hold.holder
  reply[#reply + 1] = digits(math.ceil((hold.ends - now) / 1000))
end
return reply
