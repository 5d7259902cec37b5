-- The queue in the memory of this script: read at once, changed here, and written at once. Lua works over each byte of each string that is
-- made: so the whole of a queue is put together only where it has to be.

local WINDOW = 3000000 -- us: how long a waiter that is woken may take before its place is lost
local FRONT = 2048 -- bytes: from then on who joins stands behind
local STEP = 12 -- those who come forward at once
local ENTRY = '^\n(%S+) (%d+) (%d+) (%S+) (%d+) (%d+) ([^\n]*)()'

-- The waiters in front, each behind a line break, stand in text from base on; before them, if it is as it was read, its head.
local text, base, soonest, latest, behind = '', 1, math.huge, 0, 0
-- Whether there are others in it than the server has.
local changed = false
-- Whether LOCK has a value that may be written over: of the holder that releases it, or of a waiter that could not be told.
local ours = false
-- Whether LOCK is a waiter's now.
local handed = false

-- Whether QUEUED, if it is a string, is a queue of this version.
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

-- A waiter that stands behind leaves it. Whether it did stand there.
local function leave_behind(waiter)
  local left = try('ZREM', BEHIND, 'q' .. waiter, 'a' .. waiter)
  if left and left > 0 then
    try('HDEL', WANTED, waiter)
  end
end

-- Nobody is left in front: the first of those behind come forward.
local function come_forward()
  local first = try('ZRANGEBYSCORE', BEHIND, '1', '+inf', 'LIMIT', '0', STEP)
  if refusal then
    return
  end
  local owners, members, entries = {}, {}, {}
  for i, member in ipairs(first or {}) do
    owners[i] = member:sub(2)
    members[2 * i - 1], members[2 * i] = member, 'a' .. owners[i]
  end
  if #owners == 0 then
    behind = 0
    return
  end
  local wanted = try('HMGET', WANTED, unpack(owners)) or {}
  if refusal or not try('ZREM', BEHIND, unpack(members)) then
    return
  end
  try('HDEL', WANTED, unpack(owners))
  for i, owner in ipairs(owners) do
    local alive = wanted[i] and wanted[i]:match('^%d+ (%d+) ')
    if alive and tonumber(alive) > now then
      entries[#entries + 1] = '\n' .. owner .. ' ' .. wanted[i]
      soonest = math.min(soonest, tonumber(alive))
    end
  end
  text, base, changed = table.concat(entries), 1, true
  if #owners < STEP then
    behind = 0
  end
end

-- Whether nobody waits.
local function is_empty()
  if base > #text and behind > 0 then
    soonest = math.huge
    come_forward()
  end
  return base > #text and behind == 0
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

local function head()
  return '2 ' .. digits(math.min(soonest, latest)) .. ' ' .. digits(latest) .. ' ' .. digits(behind)
end

-- For as long as the last waiter counts as alive.
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

-- Where the entry of this waiter begins and ends; nil if it has none.
local function place_of(waiter)
  local from = text:find('\n' .. waiter .. ' ', base, true)
  if from then
    return from, (text:find('\n', from + 1, true) or #text + 1) - 1
  end
end

-- Puts this in the place of what stands there.
local function replace(from, to, entry)
  if from == base and entry == '' then
    base = to + 1
  else
    text, base = text:sub(base, from - 1) .. entry .. text:sub(to + 1), 1
  end
  changed = true
end

local function forget(waiter)
  local from, to = place_of(waiter)
  if not from and behind > 0 then
    leave_behind(waiter)
  end
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
  soonest = math.huge
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

-- The first that stands behind: nothing is left of a queue whose front was lost. The key that is another program's, if one is.
local function clear_behind()
  for key, wanted in pairs({[BEHIND] = 'zset', [WANTED] = 'hash'}) do
    local kind = redis.call('TYPE', key).ok
    if kind == wanted then
      try('DEL', key)
    elseif kind ~= 'none' then
      return key
    end
  end
end

-- Joins those behind, or shows that its waiter is still there. As join.
local function join_behind(waiter, alive, place_us, asked)
  local foreign = behind == 0 and redis.call('EXISTS', BEHIND, WANTED) > 0 and clear_behind()
  if foreign then
    return false, foreign
  end
  for _, member in ipairs(try('ZRANGEBYSCORE', BEHIND, digits(-now), '(0', 'LIMIT', '0', '64') or {}) do
    leave_behind(member:sub(2))
  end
  local arrival, added = try('ZSCORE', BEHIND, 'q' .. waiter), nil
  if arrival then
    added = try('ZADD', BEHIND, digits(-alive), 'a' .. waiter)
  elseif not refusal then
    local last = try('ZREVRANGE', BEHIND, '0', '0', 'WITHSCORES')
    arrival = math.max(now, last and last[2] and tonumber(last[2]) + 1 or 0)
    added = not refusal and try('ZADD', BEHIND, digits(arrival), 'q' .. waiter, digits(-alive), 'a' .. waiter)
  end
  if not added or not try('HSET', WANTED, waiter, digits(arrival) .. ' ' .. digits(alive) .. ' ' .. asked) then
    if refusal then
      return nil
    end
    return false, added and WANTED or BEHIND
  end
  -- Longer than it has to be, so that the front is not written at each request.
  if alive > behind then
    behind = math.min(alive + place_us / 4, 9007199254740991)
    latest, changed = math.max(latest, behind), true
    local ms = digits(math.ceil((behind - now) / 1000))
    try('PEXPIRE', BEHIND, ms)
    try('PEXPIRE', WANTED, ms)
  end
  write_queue()
  return true
end

-- Joins the queue, or shows that its waiter is still there, for whom it stays in its place. Whether it could: false, and the key,
-- where a key is another's, nil for a refusal. Lack of memory refuses it, unless something else has to be written as well.
local function join(waiter, place_us, asked)
  drop_dead()
  if is_empty() then
    soonest, latest = math.huge, 0
  end
  local alive = math.min(now + place_us, 9007199254740991)
  local from, to = place_of(waiter)
  if not from and (behind > 0 or #text - base >= FRONT) then
    return join_behind(waiter, alive, place_us, asked)
  end
  soonest, latest = math.min(soonest, alive), math.max(latest, alive)
  local arrival = from and text:match('^\n%S+ (%d+) ', from) or digits(now)
  local refusable = not changed
  replace(from or #text + 1, to or #text, '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(alive) .. ' ' .. asked)
  local written
  if not refusable then
    written = put(QUEUED, queue_text(), queue_ms(), not queued)
  elseif queued then
    written = try('SET', QUEUED, queue_text(), 'PX', queue_ms())
  else
    written = try('SET', QUEUED, queue_text(), 'PX', queue_ms(), 'NX')
  end
  return written, QUEUED
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
    local from, to = place_of(waiter)
    replace(from, to, '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(now + WINDOW) .. ' ' .. asked)
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
