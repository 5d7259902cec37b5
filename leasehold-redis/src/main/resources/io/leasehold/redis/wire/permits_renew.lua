-- permits_renew.lua, Leasehold wire format 2
-- Keeps permits that are still held by their owner tokens for one ttl more, in whatever slots they are; touches nothing else, and
-- never shortens a hold.
--
-- KEYS
--   i  permits: the record of the permit; the same key may come several times
-- ARGV and replies: as renew.lua
-- Errors
--   none but those that concern the whole script: one foreign key does not stop the others

local RETENTION_MS = 60000 -- as RETENTION in acquire.lua

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- The holds of a record by owner token, or its error.
local function read(key)
  local all = redis.pcall('HGETALL', key)
  if all.err then
    return {}, not all.err:find('WRONGTYPE', 1, true) and all.err .. " (at the 'hgetall' command)" or nil
  end
  local holds = {}
  for i = 1, #all, 2 do
    local owner, token, ends, holder = all[i + 1]:match('^(%x+):(%d+):(%d+):(.*)$')
    if owner and tonumber(ends) > now then
      holds[owner] = holds[owner] or {}
      table.insert(holds[owner], {slot = all[i], token = token, ends = tonumber(ends), holder = holder})
    end
  end
  return holds
end

local function extend(key, owner, slots, ttl)
  local ends = now + ttl * 1000
  local fields = {}
  for _, hold in ipairs(slots) do
    if ends > hold.ends then
      fields[#fields + 1] = hold.slot
      fields[#fields + 1] = owner .. ':' .. hold.token .. ':' .. string.format('%.0f', ends) .. ':' .. hold.holder
    end
  end
  if #fields == 0 then
    return 1
  end
  -- Before the hold: it needs no memory, and a hold without its key would be lost.
  local left = redis.call('PTTL', key)
  if left >= 0 and left < ttl + RETENTION_MS then
    local set = redis.pcall('PEXPIRE', key, string.format('%.0f', ttl + RETENTION_MS))
    if type(set) == 'table' then
      return set.err .. " (at the 'pexpire' command)"
    end
  end
  local set = redis.pcall('HSET', key, unpack(fields))
  if type(set) == 'table' then
    return set.err .. " (at the 'hset' command)"
  end
  return 1
end

local ttls = #ARGV - #KEYS
local records, errors = {}, {}
local reply, kept = {0}, 0

for i, key in ipairs(KEYS) do
  local owner, ttl = ARGV[ttls + i]:sub(1, 40), tonumber(ARGV[ttls == 1 and 1 or i])
  if not records[key] then
    records[key], errors[key] = read(key)
  end
  local slots = records[key][owner]
  local answer = errors[key] or (slots and extend(key, owner, slots, ttl)) or 0
  if answer == 1 then
    kept = kept + 1
  else
    reply[#reply + 1] = i
    reply[#reply + 1] = answer
  end
end
reply[1] = kept
return reply
