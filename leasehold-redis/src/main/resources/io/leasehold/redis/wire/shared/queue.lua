-- The queue in the memory of this script: read at once, changed here, and written at once.

local WINDOW = 3000000 -- us: how long a waiter that is woken may take before its place is lost
local ENTRY = '^\n(%S+) (%d+) (%d+) (%S+) (%d+) (%d+) ([^\n]*)()'

-- The waiters, each behind a line break; the two numbers before them; whether they are other ones than the server has.
local line, soonest, latest, changed = '', math.huge, 0, false
-- Whether LOCK has a value that may be written over: of the holder that releases it, or of a waiter that could not be told.
local ours = false
-- Whether LOCK is a waiter's now.
local handed = false

-- Whether QUEUED, if it is a string, is a queue of this version.
local function read_queue()
  if not queued then
    return true
  end
  local first, last, from = head_of(queued)
  if not from then
    return false
  end
  soonest, latest, line = first, last, queued:sub(from)
  changed = line == ''
  return true
end

-- SET, also where memory is full: it is refused to a script until the first write, so one goes before that needs none. is_new: MGET has
-- not found the key; it may be of another type, and then it is not touched. Whether it is set: false for such a key, nil for a refusal.
local function put(key, text, ms, is_new)
  local answer
  for _ = 1, 2 do
    if is_new then
      answer = redis.pcall('SET', key, text, 'PX', ms, 'NX')
    else
      answer = redis.pcall('SET', key, text, 'PX', ms)
    end
    if not answer or not answer.err or not answer.err:find('OOM', 1, true) then
      break
    end
    if is_new and redis.call('EXISTS', key) == 1 then
      return false
    end
    redis.call('PEXPIRE', key, ms)
  end
  if answer and answer.err then
    refusal = refusal or {err = at_command(answer.err, 'SET')}
    return nil
  end
  return answer and true
end

local function queue_text()
  return '2 ' .. digits(math.min(soonest, latest)) .. ' ' .. digits(latest) .. line
end

-- For as long as the last waiter counts as alive.
local function queue_ms()
  return digits(math.max(1, math.ceil((latest - now) / 1000)))
end

local function write_queue()
  if changed and line == '' then
    try('DEL', QUEUED)
  elseif changed then
    put(QUEUED, queue_text(), queue_ms(), not queued)
  end
end

-- Where the entry of this waiter begins and ends; nil if it has none.
local function place_of(waiter)
  local from = line:find('\n' .. waiter .. ' ', 1, true)
  if from then
    return from, (line:find('\n', from + 1, true) or #line + 1) - 1
  end
end

local function forget(waiter)
  local from, to = place_of(waiter)
  while from do
    line = line:sub(1, from - 1) .. line:sub(to + 1)
    changed = true
    from, to = place_of(waiter)
  end
end

local function drop_dead()
  if now < soonest then
    return
  end
  local kept, from, dropped = {}, 1, 0
  soonest = math.huge
  for start, alive, stop in line:gmatch('()\n%S+ %d+ (%d+)[^\n]*()') do
    local ends = tonumber(alive)
    if ends <= now and dropped < 64 then
      kept[#kept + 1] = line:sub(from, start - 1)
      from, dropped = stop, dropped + 1
    elseif ends < soonest then
      soonest = ends
    end
  end
  if dropped > 0 then
    line, changed = table.concat(kept) .. line:sub(from), true
  end
end

-- Joins the queue, or stays at its place and counts as alive for longer.
local function enter(waiter, place_us, asked)
  if line == '' then
    soonest, latest = math.huge, 0
  end
  local alive = math.min(now + place_us, 9007199254740991)
  soonest, latest = math.min(soonest, alive), math.max(latest, alive)
  local from, to = place_of(waiter)
  local arrival = from and line:match('^\n%S+ (%d+) ', from) or digits(now)
  local entry = '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(alive) .. ' ' .. asked
  if from then
    line = line:sub(1, from - 1) .. entry .. line:sub(to + 1)
  else
    line = line .. entry
  end
  changed = true
end

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
    local _, to = place_of(waiter)
    line = '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(now + WINDOW) .. ' ' .. asked .. line:sub(to + 1)
    changed = true
  end
  return true
end

-- The lock becomes the waiter's, for its claim ttl, with tokens above the fence. Whether it could be told; nil if that could
-- not even be written. The caller has made sure that the fence is one.
local function hand_over(waiter, channel, claim, reserve, holder, fence)
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  if first > 9007199254740992 - reserve or not put(LOCK, waiter .. ':' .. digits(first) .. ':' .. holder, claim, not ours) then
    return nil
  end
  ours = true
  local attempt = redis.sha1hex(waiter):sub(1, 16)
  local range = digits(first) .. ' ' .. digits(last)
  if not tell(channel, 'handed ' .. attempt .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. LOCK) then
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
    if line == '' then
      return true
    end
    local waiter, arrival, alive, channel, claim, reserve, holder, behind = line:match(ENTRY)
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
    line, changed = line:sub(behind or line:find('\n', 2, true) or #line + 1), true
    if served then
      return false
    end
  end
  return false
end
