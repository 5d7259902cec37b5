-- The readers that hold a lock. Then LOCK has the value MARKER, which is no owner's, and ends when the last of them ends. The
-- hash READERS has the fields
--   "all"            "<floor> <fence> <end>": the floor of readers, the fence that it belongs to, and the largest end of a reader.
--                    The floor is the largest token of a writer, or of a reader that has ended. If the fence is another one now, a
--                    writer came in between, and the fence is the floor
--   "<owner token>"  "<end> <fencing token> <holder id>"; the reader has ended from its end (TIME in us) on
-- Without MARKER no reader is left, whatever the hash says; and no reader whose end is past is left, whatever LOCK says.

local MARKER = string.rep('0', 40) .. '::readers'

-- The time when the last reader ends; 0 if none holds the lock.
local readers_end = 0
-- What the ballot of a reader must exceed, besides TIME - RETENTION.
local read_floor = 0
-- The field "all", if the hash exists.
local recorded

-- Takes over the field "all", which may be absent.
local function know(all, fence)
  recorded = all
  local floor, of, ends = (all or ''):match('^(%d+) (%d+) (%d+)$')
  read_floor = of and tonumber(of) == fence and tonumber(floor) or fence
  if value == MARKER and not handed then
    readers_end = ends and tonumber(ends) > now and tonumber(ends) or 0
    ours = readers_end == 0
  end
end

-- Reads the field "all"; returns nil if another program wrote the key, or after a refusal.
local function know_readers(fence)
  local found = try('HMGET', READERS, 'all')
  if found then
    know(found[1], fence)
  end
  return found
end

-- The parts of an entry of the hash, if it has not ended.
local function live(entry)
  local ends, token, holder = (entry or ''):match('^(%d+) (%d+) (.*)$')
  if ends and tonumber(ends) > now then
    return tonumber(ends), token, holder
  end
end

-- Lets LOCK have MARKER until this time. is_new: LOCK must be free. Returns what put does.
local function mark(ends, is_new)
  return put(LOCK, MARKER, digits(math.ceil(ends / 1000)), is_new, 'PXAT')
end

-- HSET that works even if memory is full, unless refusable. Returns nil if it was refused.
local function set_fields(refusable, ...)
  local set = redis.pcall('HSET', READERS, ...)
  if type(set) == 'table' and set.err:find('OOM', 1, true) and not refusable then
    -- This changes nothing and needs no memory. After the first write Redis no longer refuses memory to the script.
    redis.call('HDEL', READERS, '')
    set = redis.pcall('HSET', READERS, ...)
  end
  if type(set) == 'table' then
    refusal = refusal or {err = at_command(set.err, 'HSET')}
    return nil
  end
  return set
end

-- Writes the field "all" and others, and the ttl of the hash. If there was no reader, those in the hash are former ones. Returns
-- nil if that was refused.
local function record(fence, ends, refusable, ...)
  if readers_end == 0 and recorded and ... then
    try('DEL', READERS)
    recorded = nil
  end
  local all = digits(read_floor) .. ' ' .. digits(fence) .. ' ' .. digits(ends)
  if not set_fields(refusable, 'all', all, ...) then
    return nil
  end
  local ms = math.ceil((math.max(fence, ends, now) + RETENTION - now) / 1000)
  if not try('PEXPIRE', READERS, digits(ms)) then
    if not recorded then
      try('DEL', READERS)
    end
    return nil
  end
  recorded = all
  return true
end
