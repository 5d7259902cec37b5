-- inspect.lua, Leasehold wire format 1
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
-- What may be told of the key of a hold: never an owner token, never a stranger's text.
local function public(value)
  if not value then
    return 'foreign', redis.call('TYPE', LOCK).ok
  end
  if value:sub(1, 40):match('^[0-9a-f]+$') and value:sub(41):match('^:%d*:') then
    return 'lock', value:sub(42, 600)
  end
  return 'foreign', 'string'
end
-- end shared

local left = redis.call('PTTL', LOCK)
if left == -2 then
  return {'free'}
end
local state, text = public(redis.call('MGET', LOCK)[1])
return {'held', state, text, string.format('%.0f', left)}
