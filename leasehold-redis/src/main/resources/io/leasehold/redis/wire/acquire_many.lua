-- acquire_many.lua, Leasehold wire format 2
-- The common case of acquire.lua for several callers at once, each for itself: takes those locks that are free, that nobody waits
-- for, and whose ballot is good. Nothing is written for the others; they are to be asked for with acquire.lua.
--
-- KEYS (on a Cluster all in one slot), three for each lock i
--   3i-2  lock
--   3i-1  fence
--   3i    queued
-- ARGV (numbers are decimal strings), three for each lock i; they reserve one token each
--   3i-2  value: "<owner token>:<candidate>:<holder id>"
--   3i-1  ttl in ms
--   3i    candidate: the fencing token proposed
-- Replies
--   {s, us, i1, i2 ...}  TIME as it is; then for each lock 1: it is the caller's and fence = candidate, or 0: acquire.lua decides
-- Errors
--   Redis' own; nothing was written then: what is refused to one lock only is 0

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in acquire.lua

local try = redis.pcall
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET is silent about keys of other types: what it does not find is only ever written with NX.
local values = redis.call('MGET', unpack(KEYS))
local answers = {time[1], time[2]}

local function is_written(reply)
  return reply and not reply.err
end

for i = 1, #KEYS, 3 do
  local fence_text = values[i + 1]
  local answer = 0
  if not values[i] and not values[i + 2] then
    local fence = 0
    if fence_text then
      fence = #fence_text <= 16 and fence_text:find('^%d+$') and tonumber(fence_text)
    end
    local candidate = tonumber(ARGV[i + 2])
    if fence and candidate > fence and candidate > now - RETENTION and candidate <= (fence > now and fence or now) + BOUND
      and is_written(try('SET', KEYS[i], ARGV[i], 'PX', ARGV[i + 1], 'NX')) then
      local ms = candidate > now and math.ceil((candidate + RETENTION - now) / 1000) or '60000'
      local raised
      if fence_text then
        raised = try('SET', KEYS[i + 1], ARGV[i + 2], 'PX', ms)
      else
        raised = try('SET', KEYS[i + 1], ARGV[i + 2], 'PX', ms, 'NX')
      end
      if is_written(raised) then
        answer = 1
      else
        try('DEL', KEYS[i])
      end
    end
  end
  answers[#answers + 1] = answer
end
return answers
