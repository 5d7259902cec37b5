-- Serves the first waiter of the queue.

local WINDOW = 3000000 -- us: how long a woken waiter may take before it loses its place
-- The run id of this server; false if reading it was refused.
local writer = RUN_ID ~= 'volatile' and RUN_ID or nil
local ENTRY = '^\n(%S+) (%d+) (%d+) (%S+) (%d+) (%d+) ([^\n]*)()'

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
  local attempt = redis.sha1hex(waiter):sub(1, 16)
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

-- The beginning of the message. A replica delivers the messages of its primary, so a waiter that counts from the time in a message
-- must know which server's time it is. Only clients whose channel ends with ! understand the run id.
local function handed_by(channel)
  if channel:sub(-1) ~= '!' then
    return 'handed '
  end
  if writer == nil then
    local info = redis.pcall('INFO', 'server')
    writer = type(info) == 'string' and info:match('run_id:(%w+)') or false
  end
  return writer and 'handed@' .. writer .. ' ' or 'handed '
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
  local attempt = redis.sha1hex(waiter):sub(1, 16)
  local range = digits(first) .. ' ' .. digits(last)
  if not tell(channel, handed_by(channel) .. attempt .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. LOCK) then
    return false
  end
  ours, handed = false, true
  put(FENCE, digits(last), digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000)), not fence_text)
  return true
end

-- Gives a lock that is free, or may be overwritten, to the first waiter that can be reached, unless that is the caller. Drops the
-- waiters before it, whose channels have no subscriber. Returns whether the caller comes before all other waiters; after a
-- refusal, the result has no meaning.
local function serve_first(caller, fence)
  drop_dead()
  for _ = 1, 64 do
    if is_empty() then
      return true
    elseif refusal then
      return false
    end
    local waiter, arrival, alive, channel, claim, reserve, holder, behind = text:match(ENTRY, base)
    if waiter == caller then
      return true
    end
    local served = false
    if waiter and claim == '0' then
      served = wake(waiter, arrival, alive, channel .. ' 0 ' .. reserve .. ' ' .. holder, channel)
    elseif waiter then
      served = hand_over(waiter, channel, claim, tonumber(reserve), holder, fence)
    end
    if served == nil or (served and not handed) then
      return false
    end
    -- It holds the lock, its channel has no subscriber, or it is no entry at all.
    base, changed = behind or text:find('\n', base + 1, true) or #text + 1, true
    if served then
      return false
    end
  end
  return false
end
