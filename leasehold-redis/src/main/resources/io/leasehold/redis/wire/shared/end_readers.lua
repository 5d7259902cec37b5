-- Ends readers.

-- Reads the hash, and removes from it those that have ended and those that match. Sets readers_end to the end of those that are
-- left. Returns the holder ids of the live ones that were removed; nil if another program wrote the key, or after a refusal.
local function remove_readers(fence, matches)
  local found = try('HGETALL', READERS)
  if not found then
    return nil
  end
  local all
  for i = 1, #found, 2 do
    all = found[i] == 'all' and found[i + 1] or all
  end
  know(all, fence)
  if refusal then
    return nil
  end
  local removed, fields, latest = {}, {}, 0
  for i = 1, #found, 2 do
    local ends, _, holder = live(found[i + 1])
    if found[i] ~= 'all' and (value ~= MARKER or not ends or matches(found[i], holder)) then
      fields[#fields + 1] = found[i]
      if value == MARKER and ends then
        removed[#removed + 1] = holder
      end
    elseif found[i] ~= 'all' then
      latest = math.max(latest, ends)
    end
  end
  for i = 1, #fields, 1000 do
    try('HDEL', READERS, unpack(fields, i, math.min(i + 999, #fields)))
  end
  readers_end = latest
  ours = value == MARKER and latest == 0
  return removed
end

-- Removes this reader, as remove_readers.
local function remove_reader(owner, fence)
  if value ~= MARKER then
    return know_readers(fence) and {}
  end
  local removed = remove_readers(fence, function(reader)
    return reader == owner
  end)
  local own = refusal and redis.pcall('HMGET', READERS, 'all', owner)
  if own and not own.err and not own[2] then
    -- A waiter that lacks a right, and could therefore not become a reader, leaves all the same.
    refusal, removed = nil, {}
    know(own[1], fence)
  end
  return removed
end

-- Raises the floor of readers to this ballot, and the fence. Writes what changes in the hash, and lets LOCK end with the readers
-- that are left; without any, it may be overwritten, and is deleted at last. Returns the fence, which is not yet written.
local function end_at(ballot, fence)
  local raised = fence
  -- A ballot that does not exceed TIME - RETENTION is refused even without a fence.
  if ballot > math.max(fence, now - RETENTION) then
    raised = ballot
  end
  read_floor = math.max(read_floor, ballot)
  local all = digits(read_floor) .. ' ' .. digits(raised) .. ' ' .. digits(readers_end)
  if recorded and recorded ~= all then
    record(raised, readers_end, false)
  end
  if readers_end > 0 then
    mark(readers_end, false)
  end
  return raised
end
