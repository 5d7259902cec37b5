-- The record of the permits of a name: one hash, with the fields
--   "count"   "<number of permits> <version>"; the version is the number itself if a client has set it, and above 1000 if an
--             operator has: a record that was forgotten and set anew has no version that stood for another number
--   "fence"   the largest fencing token granted or proposed
--   "<slot>"  "<owner token>:<fencing token>:<end>:<holder id>"; the slot is free from its end (TIME in us) on

local OPERATOR_MS = 31536000000 -- a year: how long the number of an operator outlives the last use

local FIRST_OF_OPERATORS = 1001 -- the lowest version that an operator sets

local count, version, fence = 0, 0, 0
-- The holds that have not ended: slot -> {owner, token, ends, holder}.
local held = {}
-- Fields that no longer mean anything and have not been written again.
local outworn = {}
-- Whether the record exists.
local is_kept = false

-- Reads the record; false if another program wrote it.
local function read_permits()
  local all = redis.pcall('HGETALL', PERMITS)
  if all.err then
    if not all.err:find('WRONGTYPE', 1, true) then
      refusal = {err = at_command(all.err, 'HGETALL')}
    end
    return false
  end
  for i = 1, #all, 2 do
    local field, value = all[i], all[i + 1]
    if field == 'count' then
      local number, changes = value:match('^(%d+) (%d+)$')
      count, version = tonumber(number), tonumber(changes)
    elseif field == 'fence' then
      fence = number_in(value)
    else
      local owner, token, ends, holder = value:match('^(%x+):(%d+):(%d+):(.*)$')
      local slot = number_in(field)
      if not slot or not ends then
        return false
      elseif tonumber(ends) > now then
        held[slot] = {owner = owner, token = token, ends = tonumber(ends), holder = holder}
      else
        outworn[field] = true
      end
    end
  end
  is_kept = #all > 0
  return count and version and fence and true or false
end

-- The reply if the record could not be read.
local function not_permits()
  return refusal or {'broken', digits(now), PERMITS, redis.call('TYPE', PERMITS).ok}
end

-- The slots that this owner token holds, ascending; nil if it holds none.
local function slots_of(owner)
  local own = {}
  for slot, hold in pairs(held) do
    if hold.owner == owner then
      own[#own + 1] = slot
    end
  end
  table.sort(own)
  return own[1] and own
end

-- The lowest free slots, so many; nil if fewer are free.
local function lowest_free(number)
  local free = {}
  for slot = 0, count - 1 do
    if not held[slot] then
      free[#free + 1] = slot
      if #free == number then
        return free
      end
    end
  end
end

local function expire()
  local latest_end = math.max(fence, now)
  for _, hold in pairs(held) do
    latest_end = math.max(latest_end, hold.ends)
  end
  local ms = math.ceil((latest_end + RETENTION - now) / 1000)
  return try('PEXPIRE', PERMITS, digits(version >= FIRST_OF_OPERATORS and math.max(ms, OPERATOR_MS) or ms))
end

-- Writes fields of the record, even if memory is full: Redis refuses memory to a script only before its first write, so a write
-- that needs no memory precedes. Returns nil if that was refused.
local function write_permits(...)
  local met = refusal
  refusal = nil
  expire()
  local written = try('HSET', PERMITS, ...)
  if written and not is_kept then
    is_kept = true
    expire()
  end
  refusal = met or refusal
  return written
end

local function count_text()
  return digits(count) .. ' ' .. digits(version)
end

-- The text of a hold.
local function hold_text(hold)
  return hold.owner .. ':' .. hold.token .. ':' .. digits(hold.ends) .. ':' .. hold.holder
end

-- Gives slots to an owner token, each with the next fencing token, from this one on. Returns the fields that are to be written.
local function hold_slots(slots, owner, token, ends, holder)
  local fields = {}
  for i, slot in ipairs(slots) do
    held[slot] = {owner = owner, token = digits(token + i - 1), ends = ends, holder = holder}
    outworn[digits(slot)] = nil
    fields[2 * i - 1], fields[2 * i] = digits(slot), hold_text(held[slot])
  end
  return fields
end

-- Frees the slots of an owner token. Returns them, or nil.
local function free_slots(owner)
  local own, fields = slots_of(owner), {}
  for i, slot in ipairs(own or {}) do
    held[slot], fields[i] = nil, digits(slot)
  end
  if own then
    redis.call('HDEL', PERMITS, unpack(fields))
  end
  return own
end

-- Deletes the fields that no longer mean anything.
local function clean_permits()
  local fields = {}
  for field in pairs(outworn) do
    fields[#fields + 1] = field
  end
  if #fields > 0 then
    try('HDEL', PERMITS, unpack(fields))
  end
end
