-- The queue is one sorted set with two members for each waiter, who is known by its owner token:
--   "q<owner token>"  score: its place, in the order of arrival (us, always > 0)
--   "a<owner token>"  score: minus the time (us) until which it counts as alive
-- ASKED is a hash: owner token -> "<channel> <claim ms> <reserve> <holder id>", what its waiter asked for.
-- QUEUED exists whenever the queue is not empty, and is read in the same command as the lock.

local function forget(waiter)
  redis.pcall('ZREM', WAITERS, 'q' .. waiter, 'a' .. waiter)
  redis.pcall('HDEL', ASKED, waiter)
end

local function drop_dead()
  local dead = redis.pcall('ZRANGEBYSCORE', WAITERS, digits(-now), '(0', 'LIMIT', 0, 64)
  for _, member in ipairs(dead) do
    forget(member:sub(2))
  end
end

local function first_waiter()
  local member = redis.pcall('ZRANGEBYSCORE', WAITERS, '1', '+inf', 'LIMIT', 0, 1)[1]
  return member and member:sub(2)
end

-- A waiter that asked for no hand-over is told that the lock is free. It has the window to come, and then counts as dead:
-- a client that vanished without a word must not keep a free lock from the others.
local function wake(waiter, attempt, channel)
  if not tell(channel, 'wake ' .. attempt .. ' ' .. digits(now) .. ' ' .. LOCK) then
    return false
  end
  local alive = redis.pcall('ZSCORE', WAITERS, 'a' .. waiter)
  if not alive or -tonumber(alive) > now + window then
    redis.pcall('ZADD', WAITERS, digits(-(now + window)), 'a' .. waiter)
  end
  return true
end

-- The lock becomes the waiter's, for its claim ttl, with tokens above the fence. Whether it could be told; nil if that could
-- not even be written.
local function hand_over(waiter, attempt, channel, claim, reserve, holder, fence)
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  local written = first <= 9007199254740992 - reserve
    and redis.pcall('SET', LOCK, waiter .. ':' .. digits(first) .. ':' .. holder, 'PX', claim)
  if not written or written.err then
    return nil
  end
  local range = digits(first) .. ' ' .. digits(last)
  if not tell(channel, 'handed ' .. attempt .. ' ' .. digits(now) .. ' ' .. range .. ' ' .. LOCK) then
    redis.pcall('DEL', LOCK)
    return false
  end
  -- After a write memory is not refused any more.
  redis.pcall('SET', FENCE, digits(last), 'PX', digits(math.ceil((math.max(last, now) + retention - now) / 1000)))
  forget(waiter)
  return true
end

-- The lock is free: it goes to the first waiter that can be reached, unless that is the caller; those that nobody listens
-- for are dropped. Whether the caller is left before all others.
local function serve_first(caller, fence)
  drop_dead()
  for _ = 1, 64 do
    local waiter = first_waiter()
    if not waiter then
      redis.pcall('DEL', QUEUED)
      return true
    end
    if waiter == caller then
      return true
    end
    local asked = redis.pcall('HGET', ASKED, waiter)
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
  end
  return false
end
