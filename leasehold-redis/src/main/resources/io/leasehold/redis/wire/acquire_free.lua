-- acquire_free.lua, Leasehold wire format 2
-- The common case of acquire.lua and nothing else: acquires a lock that is free and has no waiters, if the ballot is
-- acceptable. In all other cases nothing is written, and the client runs acquire.lua.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
-- ARGV (numbers are decimal strings); they reserve one token
--   1  value: "<owner token>:<candidate>:<holder id>"
--   2  ttl in ms
--   3  candidate: the fencing token proposed
-- Replies
--   {s, us}  the lock is the caller's, fence = candidate; s and us are the two parts of TIME
--   0        acquire.lua decides
-- Errors
--   Those of Redis. The first write decides; after an error the lock is unchanged

local call = redis.call
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
local found = call('MGET', KEYS[1], KEYS[2], KEYS[3])
if found[1] or found[3] then
  return 0
end
local fence_text, fence = found[2], 0
if fence_text then
  fence = #fence_text <= 16 and fence_text:find('^%d+$') and tonumber(fence_text)
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local candidate = tonumber(ARGV[3])
-- 60000000 us: the retention; 7500000 us: the bound; as in acquire.lua.
if fence and candidate > fence and candidate > now - 60000000 and candidate <= (fence > now and fence or now) + 7500000
  and call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  local ms = candidate > now and math.ceil((candidate + 60000000 - now) / 1000) or '60000'
  if fence_text then
    call('SET', KEYS[2], ARGV[3], 'PX', ms)
    return time
  elseif call('SET', KEYS[2], ARGV[3], 'PX', ms, 'NX') then
    return time
  end
  call('DEL', KEYS[1])
end
return 0
