-- The queue in the memory of this script: read once, changed here, and written once. Lua processes each byte of each new
-- string, so the whole queue is joined to one string only if that is necessary.

local STEP = 6 -- the number of waiters that come forward in one step

-- text has the waiters in front from base on, each after a line break. If text is unchanged since it was read, the head
-- precedes them.
local text, base, soonest, latest, behind = '', 1, math.huge, 0, 0
-- Whether its waiters differ from those at the server.
local changed = false
-- Whether soonest is later than at the server.
local outdated = false
-- Whether LOCK has a value that may be overwritten: of the holder that releases it, or of a waiter that could not be notified.
local ours = false
-- Whether LOCK was handed to a waiter.
local handed = false

-- Reads the queue; false if QUEUED is a string that is no queue of this version.
local function read_queue()
  if not queued then
    return true
  end
  local first, last, until_us, from = head_of(queued)
  if not from then
    return false
  end
  text, base, soonest, latest, behind = queued, from, first, last, until_us
  changed = base > #text
  if behind <= now then
    behind = 0
  end
  return true
end

-- Moves the first waiters from behind to the front, which is empty.
local function come_forward()
  local first = try('ZRANGEBYSCORE', BEHIND, '1', '+inf', 'WITHSCORES', 'LIMIT', '0', STEP)
  if refusal then
    return
  end
  local owners, members, entries = {}, {}, {}
  for i = 1, #(first or {}), 2 do
    local owner = first[i]:sub(2)
    owners[#owners + 1] = owner
    members[i], members[i + 1] = first[i], 'a' .. owner
  end
  if #owners == 0 then
    behind = 0
    return
  end
  local wanted = try('HMGET', WANTED, unpack(owners)) or {}
  if refusal then
    return
  end
  try('HDEL', WANTED, unpack(owners))
  if refusal or not try('ZREM', BEHIND, unpack(members)) then
    return
  end
  for i, owner in ipairs(owners) do
    local alive = wanted[i] and wanted[i]:match('^(%d+) ')
    if alive and tonumber(alive) > now then
      entries[#entries + 1] = '\n' .. owner .. ' ' .. digits(tonumber(first[2 * i])) .. ' ' .. wanted[i]
      soonest = math.min(soonest, tonumber(alive))
    end
  end
  text, base, changed = table.concat(entries), 1, true
  if #owners < STEP then
    behind = 0
  end
end

-- Whether no client waits.
local function is_empty()
  if base > #text and behind > 0 then
    soonest = math.huge
    come_forward()
  end
  return base > #text and behind == 0
end

local function head()
  return '2 ' .. digits(math.min(soonest, latest)) .. ' ' .. digits(latest) .. ' ' .. digits(behind)
end

-- The ttl of the queue: until the last waiter counts as dead.
local function queue_ms()
  return digits(math.max(1, math.ceil((latest - now) / 1000)))
end

local function queue_text()
  return head() .. (base > 1 and text:sub(base) or text)
end

local function write_queue()
  if changed and is_empty() then
    try('DEL', QUEUED)
  elseif changed then
    put(QUEUED, queue_text(), queue_ms(), not queued)
  end
end

-- The begin and the end of the entry of this waiter; nil if it has none.
local function place_of(waiter)
  local from = text:find('\n' .. waiter .. ' ', base, true)
  if from then
    return from, (text:find('\n', from + 1, true) or #text + 1) - 1
  end
end

-- Replaces this part of the text with an entry.
local function replace(from, to, entry)
  if from == base and entry == '' then
    base = to + 1
  else
    text, base = text:sub(base, from - 1) .. entry .. text:sub(to + 1), 1
  end
  changed = true
end

-- Removes a waiter from the front. A waiter that holds the lock, or is the first to request it, cannot stand behind.
local function forget(waiter)
  local from, to = place_of(waiter)
  while from do
    replace(from, to, '')
    from, to = place_of(waiter)
  end
end

local function drop_dead()
  if now < soonest then
    return
  end
  local kept, from, dropped = {}, base, 0
  local start, stop, alive = text:find('\n%S+ %d+ (%d+)[^\n]*', base)
  soonest, outdated = math.huge, true
  while start do
    local ends = tonumber(alive)
    if ends <= now and dropped < 64 then
      kept[#kept + 1] = text:sub(from, start - 1)
      from, dropped = stop + 1, dropped + 1
    elseif ends < soonest then
      soonest = ends
    end
    start, stop, alive = text:find('\n%S+ %d+ (%d+)[^\n]*', stop + 1)
  end
  if dropped > 0 then
    text, base, changed = table.concat(kept) .. text:sub(from), 1, true
  end
end
