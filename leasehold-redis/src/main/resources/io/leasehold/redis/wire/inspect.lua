-- inspect.lua, Leasehold wire format 2
-- Tells who holds a lock; writes nothing.
--
-- KEYS
--   1  lock
-- Replies
--   {"free"}
--   {"held", state, text, pttl}
--       state "lock": text is "<token>:<holder id>"; "foreign": text is the type of the key, written by something else.
--       pttl in ms as a decimal string, -1 without end.
-- Errors
--   Redis' own

local LOCK = KEYS[1]

-- shared: holder

local left = redis.call('PTTL', LOCK)
if left == -2 then
  return {'free'}
end
local state, text = public(redis.call('MGET', LOCK)[1])
return {'held', state, text, string.format('%.0f', left)}
