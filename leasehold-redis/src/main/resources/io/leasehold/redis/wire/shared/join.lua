-- Gives a waiter a place in the queue.

local FRONT = 900 -- bytes: from this length of the front on, new waiters stand behind it
local MOST = 9007199254740991

-- A time somewhat later than alive, so that it need not be written again at each request.
local function longer(alive, place_us)
  return math.min(alive + math.floor(place_us / 4), MOST)
end

-- Before the first waiter stands behind: removes the rest of a queue whose front was lost. Returns a key that another program
-- wrote, if any.
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

-- The result of a failed step: nil for a refusal, else false and the key that another program wrote.
local function failed(key)
  if not refusal then
    return false, key
  end
end

-- Joins the waiters behind the front, or records that the waiter is still alive. Results as of join.
local function join_behind(waiter, alive, place_us, asked)
  local foreign = behind == 0 and redis.call('EXISTS', BEHIND, WANTED) > 0 and clear_behind()
  if foreign then
    return false, foreign
  end
  local ends = digits(alive)
  local is_new = try('HSET', WANTED, waiter, ends .. ' ' .. asked)
  if not is_new then
    return failed(WANTED)
  end
  local stands = is_new == 0 and try('ZADD', BEHIND, '-' .. ends, 'a' .. waiter) == 0
  -- A new entry may have created a key, without a ttl: the keys were empty, or one of them was evicted.
  local expires_later = not stands
  if not stands and not refusal then
    for _, member in ipairs(try('ZRANGEBYSCORE', BEHIND, digits(-now), '(0', 'LIMIT', '0', '64') or {}) do
      if member:sub(2) ~= waiter then
        leave_behind(member:sub(2))
      end
    end
    local last = try('ZREVRANGE', BEHIND, '0', '0', 'WITHSCORES')
    local arrival = math.max(now, last and last[2] and tonumber(last[2]) + 1 or 0)
    stands = not refusal and try('ZADD', BEHIND, digits(arrival), 'q' .. waiter, '-' .. ends, 'a' .. waiter)
  end
  if not stands then
    try('HDEL', WANTED, waiter)
    return failed(BEHIND)
  end
  if alive > behind then
    behind = longer(alive, place_us)
    latest, changed = math.max(latest, behind), true
    expires_later = true
  end
  if expires_later then
    local ms = digits(math.ceil((behind - now) / 1000))
    try('PEXPIRE', BEHIND, ms)
    try('PEXPIRE', WANTED, ms)
  end
  write_queue()
  return true
end

-- Joins the queue, or records that the waiter is still alive; it then keeps its place. Returns whether that was possible:
-- false and the key if another program wrote a key, nil for a refusal. Lack of memory refuses it, unless the queue must be
-- written for another reason as well.
local function join(waiter, place_us, asked)
  drop_dead()
  if is_empty() then
    soonest, latest = math.huge, 0
  end
  local alive = math.min(now + place_us, MOST)
  local from, to = place_of(waiter)
  if not from and (behind > 0 or #text - base >= FRONT) then
    return join_behind(waiter, alive, place_us, asked)
  end
  local arrival = from and text:match('^\n%S+ (%d+) ', from) or digits(now)
  local entry = '\n' .. waiter .. ' ' .. arrival .. ' ' .. digits(alive) .. ' ' .. asked
  if not changed and not outdated and soonest <= alive and alive <= latest then
    if not from then
      return try('APPEND', QUEUED, entry)
    elseif to - from + 1 == #entry then
      return try('SETRANGE', QUEUED, digits(from - 1), entry)
    end
  end
  local refusable = not changed
  replace(from or #text + 1, to or #text, entry)
  soonest = math.min(soonest, alive)
  if alive > latest then
    latest = longer(alive, place_us)
  end
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
