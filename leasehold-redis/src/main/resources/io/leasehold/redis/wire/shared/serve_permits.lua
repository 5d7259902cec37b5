-- Serves the first waiters with free slots.

-- Notifies the first waiter, which has requested no hand-over, that a slot is free. If it does not request a permit within the
-- window, it counts as dead. Returns whether it could be notified.
local function wake(waiter, arrival, alive, asked, channel)
  if not tell(channel, 'wake ' .. attempt_of(waiter) .. ' ' .. digits(now) .. ' ' .. PERMITS) then
    return false
  end
  if tonumber(alive) > now + WINDOW then
    soonest = math.min(soonest, now + WINDOW)
    local from, to = place_of(waiter)
    replace(from, to, '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(now + WINDOW) .. ' ' .. asked)
  end
  return true
end

-- Gives the slots to the waiter for its claim time, with tokens above the fence. A waiter that could not be notified leaves the
-- slots free. Returns whether the next waiter may be served.
local function hand_over(slots, waiter, channel, claim, reserve, holder)
  local before = fence
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  if first > 9007199254740992 - reserve then
    return false
  end
  local fields = hold_slots(slots, waiter, first, now + claim * 1000, holder)
  fence = last
  if not write_permits('fence', digits(last), 'count', count_text(), unpack(fields)) then
    fence = before
    for _, slot in ipairs(slots) do
      held[slot] = nil
    end
    return false
  end
  local range = digits(first) .. ' ' .. digits(last)
  -- The count, since a waiter that states another one must ask, and is refused.
  local kind = handed_by(channel, ':' .. table.concat(slots, ',') .. '/' .. digits(count))
  if not tell(channel, kind .. attempt_of(waiter) .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. PERMITS) then
    for _, slot in ipairs(slots) do
      held[slot], outworn[digits(slot)] = nil, true
    end
  end
  return true
end

-- Gives free slots to the first waiters that can be reached, until the caller is the first, or fewer are free than the first one
-- wants. Drops waiters whose channels have no subscriber. Returns the lowest free slots, as many as wanted, if the caller comes
-- before all other waiters; nil if fewer are left for it, or after a refusal.
local function serve_permits(caller, wanted)
  drop_dead()
  for _ = 1, 64 do
    if not lowest_free(1) then
      return nil
    elseif is_empty() then
      return lowest_free(wanted)
    elseif refusal then
      return nil
    end
    local waiter, arrival, alive, channel, kind, claim, reserve, holder, behind = text:match(ENTRY, base)
    if waiter == caller then
      return lowest_free(wanted)
    end
    -- A waiter that holds a slot no longer waits, and none waits to read.
    local waits = waiter and kind == '' and not slots_of(waiter)
    if waits and tonumber(reserve) > count then
      -- The number was lowered: the waiter is refused when it asks again, and must not block those behind it.
      tell(channel, 'wake ' .. attempt_of(waiter) .. ' ' .. digits(now) .. ' ' .. PERMITS)
      waits = false
    end
    local slots = waits and lowest_free(tonumber(reserve))
    if waits and not slots then
      return nil
    elseif waits and claim == '0' then
      if wake(waiter, arrival, alive, channel .. ' 0 ' .. reserve .. ' ' .. holder, channel) then
        return nil
      end
    elseif waits and not hand_over(slots, waiter, channel, tonumber(claim), tonumber(reserve), holder) then
      return nil
    end
    base, changed = behind or text:find('\n', base + 1, true) or #text + 1, true
  end
  return nil
end
