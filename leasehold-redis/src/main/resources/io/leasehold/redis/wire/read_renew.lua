-- read_renew.lua, Leasehold wire format 2
-- Keeps readers that still hold their locks for one ttl more; touches nothing else, and never shortens a hold. The lock then ends
-- no earlier than its last reader: the script also extends a lock alone, which another program or another clock let end sooner.
--
-- KEYS, two for each reader i; the same keys may come several times
--   2i-1  lock
--   2i    readers: as in acquire.lua
-- ARGV and replies: as renew.lua, with i the number of the reader
-- Errors
--   none but those that concern the whole script: one foreign key does not stop the others

local RETENTION_MS = 60000 -- as RETENTION in acquire.lua
local SKEW = 5000 -- us: as in shared/readers.lua
local MARKER = string.rep('0', 40) .. '::readers'

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- The result of a command, or nil and its error: 0 for that of a key that another program wrote.
local function try(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) ~= 'table' or not answer.err then
    return answer
  end
  local foreign = answer.err:find('WRONGTYPE', 1, true)
  return nil, foreign and 0 or answer.err .. " (at the '" .. command:lower() .. "' command)"
end

-- Lets all readers end later, since the lock does: see settle in shared/readers.lua. Returns the error, if any.
local function put_off(readers, shift)
  local found, err = try('HGETALL', readers)
  for i = 1, found and #found or 0, 2 do
    local ends, rest = found[i + 1]:match('^(%d+)( .*)$')
    if ends and found[i] ~= 'all' and not err then
      local _
      _, err = try('HSET', readers, found[i], string.format('%.0f', tonumber(ends) + shift) .. rest)
    end
  end
  return err
end

-- Lets the lock and the hash last until this time. The lock comes first: one that ended before its last reader would go to a writer.
-- Returns the error, if any.
local function keep(lock, readers, last, latest)
  -- The first write needs no memory; after it, Redis no longer refuses memory to the script.
  local ms = math.ceil((math.max(last, latest) - now) / 1000) + RETENTION_MS
  local _, err = try('PEXPIRE', readers, string.format('%.0f', ms))
  if not err then
    _, err = try('SET', lock, MARKER, 'PXAT', string.format('%.0f', math.ceil(last / 1000)))
  end
  return err
end

-- Returns 1 if the reader is kept, 0 if it holds nothing, or an error.
local function extend(lock, readers, owner, ttl)
  local found, err = try('MGET', lock)
  if not found or found[1] ~= MARKER then
    return err or 0
  end
  local left
  left, err = try('PTTL', lock)
  if left then
    found, err = try('HMGET', readers, 'all', owner)
  end
  if err then
    return err
  end
  local floors, latest = (found[1] or ''):match('^(%d+ %d+ )([1-9]%d*)$')
  local ends, rest = (found[2] or ''):match('^(%d+)( .*)$')
  if not ends or not latest then
    return 0
  end
  ends, latest = tonumber(ends), tonumber(latest)
  local later, marked = now + ttl * 1000, left < 0 and latest or now + left * 1000
  local shift = math.max(0, marked - latest)
  if ends + shift <= now then
    return 0
  end
  local is_shifted = shift > SKEW
  local is_short = left < ttl or later > latest + shift
  if later <= ends and not is_shifted and not is_short then
    return 1
  end
  local written = {owner, string.format('%.0f', math.max(later, ends + (is_shifted and shift or 0))) .. rest}
  if is_short or is_shifted then
    local last = math.max(later, marked)
    err = keep(lock, readers, last, latest) or (is_shifted and put_off(readers, shift)) or nil
    if err then
      return err
    end
    written[3], written[4] = 'all', floors .. string.format('%.0f', last)
  else
    -- This changes nothing and needs no memory.
    redis.pcall('HDEL', readers, '')
  end
  local _
  _, err = try('HSET', readers, unpack(written))
  return err or 1
end

local ttls = #ARGV - #KEYS / 2
local reply, kept = {0}, 0

for i = 1, #KEYS / 2 do
  local owner, ttl = ARGV[ttls + i]:sub(1, 40), tonumber(ARGV[ttls == 1 and 1 or i])
  local answer = extend(KEYS[2 * i - 1], KEYS[2 * i], owner, ttl)
  if answer == 1 then
    kept = kept + 1
  else
    reply[#reply + 1] = i
    reply[#reply + 1] = answer
  end
end
reply[1] = kept
return reply
