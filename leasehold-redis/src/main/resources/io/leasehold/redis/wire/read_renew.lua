-- read_renew.lua, Leasehold wire format 2
-- Keeps readers that still hold their locks for one ttl more; touches nothing else, and never shortens a hold. The lock then ends
-- with its last reader, as before.
--
-- KEYS, two for each reader i; the same keys may come several times
--   2i-1  lock
--   2i    readers: as in acquire.lua
-- ARGV and replies: as renew.lua, with i the number of the reader
-- Errors
--   none but those that concern the whole script: one foreign key does not stop the others

local RETENTION_MS = 60000 -- as RETENTION in acquire.lua
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

-- Returns 1 if the reader is kept, 0 if it holds nothing, or an error. The lock is extended before the reader: a lock that ended
-- before its last reader would go to a writer.
local function extend(lock, readers, owner, ttl)
  local found, err = try('MGET', lock)
  if not found or found[1] ~= MARKER then
    return err or 0
  end
  found, err = try('HMGET', readers, 'all', owner)
  if not found then
    return err
  end
  local floors, latest = (found[1] or ''):match('^(%d+ %d+ )(%d+)$')
  local ends, rest = (found[2] or ''):match('^(%d+)( .*)$')
  local later = now + ttl * 1000
  if not ends or not latest or tonumber(ends) <= now then
    return 0
  elseif later <= tonumber(ends) then
    return 1
  end
  local ends_text = string.format('%.0f', later)
  local written = {owner, ends_text .. rest}
  if later > tonumber(latest) then
    -- The first write needs no memory; after it, Redis no longer refuses memory to the script.
    local _
    _, err = try('PEXPIRE', readers, string.format('%.0f', ttl + RETENTION_MS))
    if not err then
      _, err = try('SET', lock, MARKER, 'PXAT', string.format('%.0f', math.ceil(later / 1000)))
    end
    if err then
      return err
    end
    written = {'all', floors .. ends_text, owner, ends_text .. rest}
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
