-- Who is served from the queue.

local WINDOW = 3000000 -- us: how long a waiter that is woken may take before its place is lost
-- The run id of this server: once it was asked for, false where that is refused.
local writer
local ENTRY = '^\n(%S+) (%d+) (%d+) (%S+) (%d+) (%d+) ([^\n]*)()'

-- Whether LOCK is free; what may be written over is deleted.
local function is_freed()
  if ours then
    ours = false
    redis.call('DEL', LOCK)
    return true
  end
  return redis.call('EXISTS', LOCK) == 0
end

-- The first waiter asked for no hand-over, and is told that the lock is free. It has the window to come, and then counts as dead:
-- a client that vanished without a word must not keep a free lock from the others. Whether it could be told; nil if the lock is not free.
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

-- A replica passes on what its primary tells: so a waiter that counts from the time in the message has to know whose time it is.
-- A channel that ends with ! understands it.
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

-- The lock becomes the waiter's, for its claim ttl, with tokens above the fence. Whether it could be told; nil if that could
-- not even be written. The caller has made sure that the fence is one.
local function hand_over(waiter, channel, claim, reserve, holder, fence)
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  -- From the moment that the message tells on: a ttl would count from the start of the script, which may be earlier.
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

-- The lock is free, or ours: it goes to the first waiter that can be reached, unless that is the caller; those that nobody listens
-- for are dropped. Whether the caller is left before all others; says nothing once there is a refusal.
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
    -- It holds the lock, nobody listens for it, or it is no entry at all.
    base, changed = behind or text:find('\n', base + 1, true) or #text + 1, true
    if served then
      return false
    end
  end
  return false
end
