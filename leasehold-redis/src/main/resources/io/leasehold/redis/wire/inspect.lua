-- inspect.lua, Leasehold wire format 2
-- Reads the holder of a lock; writes nothing.
--
-- KEYS
--   1  lock
-- Replies
--   {"free"}
--   {"held", state, text, pttl}
--       state "lock": text is "<token>:<holder id>"; "foreign": another program wrote the key, and text is its type.
--       pttl in ms as a decimal string, -1 if the key does not expire.
-- Errors
--   Those of Redis

local LOCK = KEYS[1]

-- shared: holder

local left = redis.call('PTTL', LOCK)
if left == -2 then
  return {'free'}
end
local state, text = public(redis.call('MGET', LOCK)[1])
return {'held', state, text, string.format('%.0f', left)}
