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

-- shared: text
-- The text at a key, false if there is none, nil if the key is of another type.
local function text_at(key)
  local text = redis.pcall('GET', key)
  if type(text) ~= 'table' then
    return text
  end
  if text.err:find('WRONGTYPE', 1, true) then
    return nil
  end
  -- Anything else, for example a missing right, is the caller's to hear: asking again raises it.
  return redis.call('GET', key)
end
-- end shared

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

local value = text_at(LOCK)
if value == false then
  return {'free'}
end
local state, text = public(value, LOCK)
return {'held', state, text, string.format('%.0f', redis.call('PTTL', LOCK))}
