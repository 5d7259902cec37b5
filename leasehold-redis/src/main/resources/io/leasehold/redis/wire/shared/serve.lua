-- Serves the first waiter of the queue.

-- Whether LOCK is free; deletes a value that may be overwritten.
local function is_freed()
  if ours then
    ours = false
    redis.call('DEL', LOCK)
    return true
  end
  return redis.call('EXISTS', LOCK) == 0
end

-- Notifies the first waiter, which has requested no hand-over, that the lock is free. If it does not request the lock within
-- the window, it counts as dead: a client that has silently gone must not block a free lock. Returns whether it could be
-- notified; nil if the lock is not free.
local function wake(waiter, arrival, alive, asked, channel)
  if not is_freed() then
    return nil
  end
  local attempt = attempt_of(waiter)
  if not tell(channel, 'wake ' .. attempt .. ' ' .. digits(now) .. ' ' .. LOCK) then
    return false
  end
  if tonumber(alive) > now + WINDOW then
    soonest = math.min(soonest, now + WINDOW)
    local from, to = place_of(waiter)
    replace(from, to, '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(now + WINDOW) .. ' ' .. asked)
  end
  return true
end

-- Gives the lock to the waiter for its claim time, with tokens above the fence. Returns whether the waiter could be notified; nil
-- if the lock could not even be written. The caller has checked that the fence is a number.
local function hand_over(waiter, channel, claim, reserve, holder, fence)
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  -- Counts from the time in the message. A ttl would count from the start of the script, which may be earlier.
  local until_ms = digits(math.ceil(now / 1000) + claim)
  if first > 9007199254740992 - reserve
    or not put(LOCK, waiter .. ':' .. digits(first) .. ':' .. holder, until_ms, not ours, 'PXAT') then
    return nil
  end
  ours = true
  local attempt = attempt_of(waiter)
  local range = digits(first) .. ' ' .. digits(last)
  if not tell(channel, handed_by(channel) .. attempt .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. LOCK) then
    return false
  end
  ours, handed = false, true
  put(FENCE, digits(last), digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000)), not fence_text)
  return true
end

-- Gives a lock that is free, or may be overwritten, to the first waiter that can be reached, unless that is the caller; or to all
-- readers at the head, which readers that hold the lock share with them. Drops the waiters before it, whose channels have no
-- subscriber. reads: the caller is a reader. Returns whether the caller comes next: before all other waiters, or as a reader
-- before every writer, and the fence. After a refusal, the results have no meaning.
local function serve_first(caller, fence, reads)
  drop_dead()
  for _ = 1, 64 do
    if is_empty() then
      return reads or readers_end == 0, fence
    elseif refusal then
      return false, fence
    end
    local waiter, arrival, alive, channel, kind, claim, reserve, holder, behind = text:match(ENTRY, base)
    if kind == 'r' then
      local is_open, stays
      is_open, stays, fence = serve_readers(caller, fence)
      if stays or readers_end > 0 or refusal or (reads and is_open) then
        return reads and is_open and not refusal, fence
      end
    elseif waiter == caller then
      return readers_end == 0, fence
    elseif waiter and readers_end > 0 then
      return false, fence
    else
      local served = false
      if waiter and claim == '0' then
        served = wake(waiter, arrival, alive, channel .. ' 0 ' .. reserve .. ' ' .. holder, channel)
      elseif waiter then
        served = hand_over(waiter, channel, claim, tonumber(reserve), holder, fence)
      end
      if served == nil or (served and not handed) then
        return false, fence
      end
      -- It holds the lock, its channel has no subscriber, or it is no entry at all.
      base, changed = behind or text:find('\n', base + 1, true) or #text + 1, true
      if served then
        return false, fence
      end
    end
  end
  return false, fence
end
