-- acquire_many.lua, Leasehold wire format 2
-- The common case of acquire.lua for several callers, each of which succeeds or fails on its own: acquires those locks that
-- are free, have no waiters, and whose ballot is acceptable. Nothing is written for the others, for which the client runs
-- acquire.lua.
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
--   {s, us, i1, i2 ...}  the two parts of TIME; then for each lock 1: it is the caller's and fence = candidate, or 0: acquire.lua
--                        decides
-- Errors
--   Those of Redis; nothing was written then. A refusal for a single lock is not an error: its reply is 0

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in acquire.lua

local try = redis.pcall
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
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
