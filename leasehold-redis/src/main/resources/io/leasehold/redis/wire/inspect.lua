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
-- Whether a value was written under an owner token.
local function is_of(value, token)
  return type(value) == 'string' and value:sub(1, 41) == token .. ':'
end

-- What may be told of a value: never an owner token, never a stranger's text.
local function public(value, key)
  if type(value) ~= 'string' then
    local kind = redis.pcall('TYPE', key)
    return 'foreign', kind.ok or 'unknown'
  end
  if value:sub(1, 40):match('^[0-9a-f]+$') and value:sub(41):match('^:%d*:') then
    return 'lock', value:sub(42, 600)
  end
  return 'foreign', 'string'
end
-- end shared

local value = redis.pcall('GET', LOCK)
if not value then
  return {'free'}
end
local state, text = public(value, LOCK)
return {'held', state, text, string.format('%.0f', redis.call('PTTL', LOCK))}
