-- The public part of the value of a lock key: never an owner token, never the text of another program.
local function public(value)
  if not value then
    return 'foreign', redis.call('TYPE', LOCK).ok
  end
  if value:sub(1, 40):match('^[0-9a-f]+$') and value:sub(41):match('^:%d*:') then
    return 'lock', value:sub(42, 600)
  end
  return 'foreign', 'string'
end
