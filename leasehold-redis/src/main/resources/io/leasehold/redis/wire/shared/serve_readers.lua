-- Serves the readers at the head of the queue: neighbours hold the lock together.

-- From this number of readers on, the next script serves the others, at the latest that with which one of them confirms its hold:
-- 400 in one script would block the server for 50 to 130 ms.
local ENOUGH = 64

-- Makes readers of these waiters for their claim times, with tokens above the fence. Those that could not be notified do not stay.
-- Returns the fence then; nil if nothing could be written.
local function share(waiters, fence)
  local fields, last, latest, before = {}, fence, readers_end, readers_end
  for _, one in ipairs(waiters) do
    one.first = math.max(last + 1, now)
    last = one.first + one.reserve - 1
    one.last, one.ends = last, now + one.claim * 1000
    latest = math.max(latest, one.ends)
    fields[#fields + 1] = one.waiter
    fields[#fields + 1] = digits(one.ends) .. ' ' .. digits(one.first) .. ' ' .. one.holder
  end
  if last > 9007199254740991 or (latest > before and not mark(latest, before == 0 and not ours)) then
    return nil
  end
  -- Until a reader has been notified, LOCK may be overwritten.
  ours = before == 0
  if not record(last, latest, false, unpack(fields)) then
    return nil
  end
  local heard, unheard = 0, {}
  for _, one in ipairs(waiters) do
    local range = digits(one.first) .. ' ' .. digits(one.last)
    local message = handed_by(one.channel) .. attempt_of(one.waiter) .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. READERS
    if tell(one.channel, message) then
      heard = math.max(heard, one.ends)
    else
      unheard[#unheard + 1] = one.waiter
    end
  end
  readers_end = math.max(before, heard)
  if #unheard > 0 then
    try('HDEL', READERS, unpack(unheard))
    record(heard > 0 and last or fence, readers_end, false)
    if readers_end > 0 and readers_end < latest then
      mark(readers_end, false)
    end
  end
  if heard == 0 then
    return fence
  end
  ours, handed = false, true
  put(FENCE, digits(last), digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000)), not fence_text)
  fence_text = digits(last)
  return last
end

-- Serves all readers before the first writer, except the caller: hands the lock over, or wakes those that requested no hand-over,
-- which then keep their place for the window. Returns whether no writer waits before the caller, whether readers keep their
-- place at the head, and the fence; after a refusal, the results have no meaning.
local function serve_readers(caller, fence)
  if not handed and not know_readers(fence) then
    return false, true, fence
  end
  local shared = 0
  for _ = 1, 64 do
    local waiters, kept, met, from, is_next = {}, {}, false, base, false
    while from <= #text and not is_next do
      local waiter, arrival, alive, channel, kind, claim, reserve, holder, to = text:match(ENTRY, from)
      is_next = waiter and kind == ''
      if not is_next then
        to = to or text:find('\n', from + 1, true) or #text + 1
        if waiter and waiter == caller then
          met, kept[#kept + 1] = true, text:sub(from, to - 1)
        elseif waiter and claim == '0' then
          if tell(channel, 'wake ' .. attempt_of(waiter) .. ' ' .. digits(now) .. ' ' .. READERS) then
            local ends = math.min(tonumber(alive), now + WINDOW)
            soonest = math.min(soonest, ends)
            local asked = channel .. ' r0 ' .. reserve .. ' ' .. holder
            kept[#kept + 1] = '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(ends) .. ' ' .. asked
          end
        elseif waiter then
          waiters[#waiters + 1] = {
            waiter = waiter, channel = channel, claim = tonumber(claim), reserve = tonumber(reserve), holder = holder
          }
        end
        from = to
      end
    end
    if #waiters > 0 then
      fence = share(waiters, fence)
    end
    if not fence or refusal then
      return false, true, fence
    end
    text, base, changed = table.concat(kept) .. text:sub(from), 1, true
    shared = shared + #waiters
    if is_next then
      return met, #kept > 0, fence
    elseif #kept > 0 then
      return met or behind == 0, true, fence
    elseif is_empty() or refusal then
      return true, false, fence
    elseif shared >= ENOUGH then
      return false, true, fence
    end
  end
  return false, false, fence
end
