-- The queue is one sorted set with two members for each waiter, who is known by its owner token:
--   "q<owner token>"  score: its place, in the order of arrival (us, always > 0)
--   "a<owner token>"  score: minus the time (us) until which it counts as alive
-- ASKED is a hash: owner token -> "<channel> <claim ms> <reserve> <holder id>", what its waiter asked for.
-- QUEUED exists whenever the queue is not empty, and is read in the same command as the lock.

local WINDOW = 3000000 -- us: how long a waiter that is woken may take before its place is lost

local function forget(waiter)
  try('ZREM', WAITERS, 'q' .. waiter, 'a' .. waiter)
  try('HDEL', ASKED, waiter)
end

local function drop_dead()
  local dead = try('ZRANGEBYSCORE', WAITERS, digits(-now), '(0', 'LIMIT', 0, 64)
  for _, member in ipairs(dead or {}) do
    forget(member:sub(2))
  end
end

local function first_waiter()
  local found = try('ZRANGEBYSCORE', WAITERS, '1', '+inf', 'LIMIT', 0, 1)
  return found and found[1] and found[1]:sub(2)
end

-- A waiter that asked for no hand-over is told that the lock is free. It has the window to come, and then counts as dead:
-- a client that vanished without a word must not keep a free lock from the others.
local function wake(waiter, attempt, channel)
  if not tell(channel, 'wake ' .. attempt .. ' ' .. digits(now) .. ' ' .. LOCK) then
    return false
  end
  local alive = try('ZSCORE', WAITERS, 'a' .. waiter)
  if not alive or -tonumber(alive) > now + WINDOW then
    try('ZADD', WAITERS, digits(-(now + WINDOW)), 'a' .. waiter)
  end
  return true
end

-- The lock becomes the waiter's, for its claim ttl, with tokens above the fence. Whether it could be told; nil if that could
-- not even be written.
local function hand_over(waiter, attempt, channel, claim, reserve, holder, fence)
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  if first > 9007199254740992 - reserve then
    return nil
  end
  -- Before anything is set: from a script that has written, memory is not refused any more.
  forget(waiter)
  if refusal or not try('SET', LOCK, waiter .. ':' .. digits(first) .. ':' .. holder, 'PX', claim) then
    return nil
  end
  local range = digits(first) .. ' ' .. digits(last)
  if not tell(channel, 'handed ' .. attempt .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. LOCK) then
    try('DEL', LOCK)
    return false
  end
  try('SET', FENCE, digits(last), 'PX', digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000)))
  return true
end

-- The lock is free: it goes to the first waiter that can be reached, unless that is the caller; those that nobody listens
-- for are dropped. Whether the caller is left before all others; says nothing once there is a refusal.
local function serve_first(caller, fence)
  drop_dead()
  for _ = 1, 64 do
    local waiter = first_waiter()
    if not waiter then
      if not refusal then
        try('DEL', QUEUED)
      end
      return true
    end
    if waiter == caller then
      return true
    end
    local asked = try('HGET', ASKED, waiter)
    if refusal then
      return false
    end
    local channel, claim, reserve, holder
    if type(asked) == 'string' then
      channel, claim, reserve, holder = asked:match('^(%S+) (%d+) (%d+) (.*)$')
    end
    if channel then
      local attempt = redis.sha1hex(waiter):sub(1, 16)
      local served
      if claim == '0' then
        served = wake(waiter, attempt, channel)
      else
        served = hand_over(waiter, attempt, channel, claim, tonumber(reserve), holder, fence)
      end
      if served ~= false then
        return false
      end
    end
    forget(waiter)
    if refusal then
      return false
    end
  end
  return false
end
