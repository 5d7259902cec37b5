-- The readers that hold a lock. Then LOCK has the value MARKER, which is no owner's, and ends when the last of them ends. The
-- hash READERS has the fields
--   "all"            "<floor> <fence> <end>": the floor of readers, the fence that it belongs to, and the largest end of a reader.
--                    The floor is the largest token of a writer, or of a reader that has ended. If the fence is another one now, a
--                    writer came in between, and the fence is the floor. The end is 0 if no reader is left
--   "<owner token>"  "<end> <fencing token> <holder id>"; the reader has ended from its end (TIME in us) on
-- Without MARKER no reader is left, whatever the hash says. With it, the lock is busy until MARKER ends, unless the end is 0 or the
-- hash is lost: a slot that moves takes along the ttl of LOCK, but ends in the TIME of the former master.

local MARKER = string.rep('0', 40) .. '::readers'
local SKEW = 5000 -- us: what MARKER and the largest end may differ by, since a ttl has whole ms and counts from the start of a script

-- The time when the last reader ends; 0 if none holds the lock.
local readers_end = 0
-- What the ballot of a reader must exceed, besides TIME - RETENTION.
local read_floor = 0
-- The field "all", if the hash exists.
local recorded
-- How much later than written the readers end that were read before the field "all" was taken over.
local shift = 0

-- Lets LOCK have MARKER until this time. is_new: LOCK must be free. Returns what put does.
local function mark(ends, is_new)
  return put(LOCK, MARKER, digits(math.ceil(ends / 1000)), is_new, 'PXAT')
end

-- Lets the ends fit MARKER again, which ends at this time: the clock is another one, or another program changed the ttl. If MARKER
-- ends later than written, so do all readers. If it ends sooner, their ends stay: they are not earlier than those of the clients.
local function settle(marked, floors)
  -- After this write Redis no longer refuses memory to the script.
  local found = mark(marked, false) and (shift == 0 or try('HGETALL', READERS))
  for i = 1, shift > 0 and found and #found or 0, 2 do
    local ends, rest = found[i + 1]:match('^(%d+)( .*)$')
    if ends and found[i] ~= 'all' then
      try('HSET', READERS, found[i], digits(tonumber(ends) + shift) .. rest)
    end
  end
  if found and not refusal then
    recorded = floors .. digits(marked)
    try('HSET', READERS, 'all', recorded)
  end
end

-- Takes over the field "all", which may be absent.
local function know(all, fence)
  recorded, shift = all, 0
  local floor, of, ends = (all or ''):match('^(%d+) (%d+) (%d+)$')
  read_floor = of and tonumber(of) == fence and tonumber(floor) or fence
  if value ~= MARKER or handed then
    return
  end
  readers_end = tonumber(ends or 0)
  local left = redis.call('PTTL', LOCK)
  if left < 0 then
    -- Another program took the ttl away.
    readers_end = readers_end > now and readers_end or 0
  elseif readers_end > 0 then
    local marked = now + left * 1000
    shift = math.max(0, marked - readers_end)
    if math.abs(marked - readers_end) > SKEW then
      readers_end = marked
      settle(marked, floor .. ' ' .. of .. ' ')
    elseif readers_end <= now then
      readers_end = marked
    end
  end
  ours = readers_end == 0
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
  if ends and tonumber(ends) + shift > now then
    return tonumber(ends) + shift, token, holder
  end
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
