-- release.lua of wire format 1, whose queue was a sorted set and a hash: to compare with.
-- Ends an owner token: forgets its place in the queue, deletes the lock if it holds it, and raises the fence to its
-- highest ballot, so that no late copy of its requests is granted. If the lock is free then, hands it to the first waiter.
-- Release, undo and withdrawal are this one script; repeating it is harmless.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
--   5  asked
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
-- Replies
--   {"released"}      the lock was held by this owner token and is not any more
--   {"not-ours"}      it was not
--   Each may end with "besides", error: what was refused while the first waiter was served
-- Errors
--   Redis' own (NOREPLICAS, MISCONF, NOPERM ...); then the lock is as it was, and the owner token is not ended: to be
--   repeated. A deletion is not refused for lack of memory, nor is anything after it.
--   Where +exists is missing the lock may be gone already, and the next waiter is not served.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: the fence is raised to at most max(fence, TIME) + this

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner = ARGV[1]
local value, queued = unpack(redis.call('MGET', LOCK, QUEUED))

local released = value and value:sub(1, 41) == owner .. ':'
if released then
  redis.call('DEL', LOCK)
  -- The grant of the token in the value has raised the fence to it; only a higher ballot needs more.
  if not queued and value:sub(42, 42 + #ARGV[2]) == ARGV[2] .. ':' then
    return {'released'}
  end
end

local ballot = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Lua prints large numbers as 1.7e+15; the wire wants all their digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- A decimal number, 0 for nothing, nil for any other text.
local function number_in(text)
  if not text then
    return 0
  end
  return #text <= 16 and text:match('^%d+$') and tonumber(text) or nil
end

-- A key of another type, that another program wrote, is as good as none. The first other error of these commands (writes are
-- refused, a right is missing) is kept, with the command that met it: a script must not pass it over in silence.
local refusal
-- The first error with which telling a waiter was refused: nothing that is written depends on it.
local untold

local function at_command(err, command)
  return err .. " (at the '" .. command:lower() .. "' command)"
end

local function try(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) ~= 'table' or not answer.err then
    return answer
  end
  if not refusal and not answer.err:find('WRONGTYPE', 1, true) then
    refusal = {err = at_command(answer.err, command)}
  end
  return nil
end

-- An answer, and beside it what was refused on the way: a client warns of a right that is missing.
local function with_refusal(reply)
  local met = refusal and refusal.err or untold
  if met then
    reply[#reply + 1] = 'besides'
    reply[#reply + 1] = met
  end
  return reply
end

-- Whether a subscriber received it; where that cannot be told, yes; where PUBLISH was refused, no. On a Cluster the
-- channel is one of the lock's slot, and has its tag in braces; or it ends with ~, and is broadcast: the count of that says
-- nothing. PUBLISH also counts those that subscribe to patterns, who are not the waiter: so where it counts anybody, the
-- subscribers of the channel itself are counted.
local function tell(channel, message)
  local sharded, broadcast = channel:find('{', 1, true), channel:sub(-1) == '~'
  local command = sharded and 'SPUBLISH' or 'PUBLISH'
  local heard = redis.pcall(command, channel, message)
  local published = type(heard) == 'number'
  if not sharded and not broadcast and published and heard > 0 then
    command = 'PUBSUB|NUMSUB'
    local listening = redis.pcall('PUBSUB', 'NUMSUB', channel)
    heard = listening.err and listening or listening[2]
  end
  if type(heard) == 'table' then
    untold = untold or at_command(heard.err, command)
    return published
  end
  return heard ~= 0 or broadcast
end

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

-- Also where nothing waits: from a script that has written, memory is not refused any more; and where writes are refused, this
-- is the one that says so.
forget(owner)

local fence_text = redis.call('MGET', FENCE)[1]
local fence = number_in(fence_text)
if fence and not fence_text and redis.call('EXISTS', FENCE) == 1 then
  fence = nil
end
if fence then
  local raised = math.min(ballot, math.max(fence, now) + BOUND)
  -- What does not beat TIME - RETENTION is refused without a fence.
  if raised > math.max(fence, now - RETENTION) then
    local ms = digits(math.ceil((math.max(raised, now) + RETENTION - now) / 1000))
    try('SET', FENCE, digits(raised), 'PX', ms)
    fence = raised
  end
end
if refusal and not released then
  return refusal
end

-- Where the fence is not ours nobody is granted anything.
if fence and queued and redis.call('EXISTS', LOCK) == 0 then
  serve_first(owner, fence)
end
if refusal and not released then
  return refusal
end
return with_refusal({released and 'released' or 'not-ours'})
