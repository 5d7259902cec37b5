-- release.lua of wire format 1, whose queue was a sorted set and a hash; only for comparison.
-- Ends an owner token: removes its place in the queue, deletes the lock if the token holds it, and raises the fence to its
-- highest ballot, so that no late copy of its requests can be granted. If the lock is free then, hands it to the first waiter.
-- Release, undo and withdrawal all run this script; repeating it is harmless.
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
--   {"released"}      this owner token held the lock, and no longer does
--   {"not-ours"}      this owner token did not hold the lock
--   Each may end with "besides", error: the command that was refused while the first waiter was served
-- Errors
--   Those of Redis (NOREPLICAS, MISCONF, NOPERM ...). The lock is then unchanged and the owner token not ended: the client
--   must repeat the release. Redis refuses neither a deletion nor any later command for lack of memory.
--   If the right +exists is missing, the lock may be gone already, and the next waiter is not served.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: the fence is raised to at most max(fence, TIME) + BOUND

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local owner = ARGV[1]
local value, queued = unpack(redis.call('MGET', LOCK, QUEUED))

local released = value and value:sub(1, 41) == owner .. ':'
if released then
  redis.call('DEL', LOCK)
  -- The grant has raised the fence to the token in the value; only a higher ballot needs a further write.
  if not queued and value:sub(42, 42 + #ARGV[2]) == ARGV[2] .. ':' then
    return {'released'}
  end
end

local ballot = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Lua prints large numbers as 1.7e+15; the wire format needs all digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- Reads a decimal number: 0 if the text is absent, nil if it is not a number.
local function number_in(text)
  if not text then
    return 0
  end
  return #text <= 16 and text:match('^%d+$') and tonumber(text) or nil
end

-- A key of another type, which another program wrote, counts as absent. The first other error of these commands (Redis refuses
-- writes, a right is missing) is kept with its command, since a script must not hide it.
local refusal
-- The first error of a message to a waiter. No write depends on such a message.
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

-- Adds the refused command, if any, to a reply: the client then warns of the missing right.
local function with_refusal(reply)
  local met = refusal and refusal.err or untold
  if met then
    reply[#reply + 1] = 'besides'
    reply[#reply + 1] = met
  end
  return reply
end

-- Publishes a message. Returns whether a subscriber received it: true if that is unknown, false if PUBLISH was refused. On a
-- Cluster the channel either belongs to the lock's slot and has the slot's tag in braces, or it ends with ~ and is broadcast;
-- the count of a broadcast says nothing. PUBLISH also counts clients that subscribe to patterns and are not the waiter: if its
-- count is not zero, the script counts the subscribers of the channel itself.
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

-- The queue is one sorted set with two members for each waiter, identified by its owner token:
--   "q<owner token>"  score: its place, in the order of arrival (us, always > 0)
--   "a<owner token>"  score: minus the time (us) until which it counts as alive
-- ASKED is a hash: owner token -> "<channel> <claim ms> <reserve> <holder id>", the request of its waiter.
-- QUEUED exists whenever the queue is not empty, and is read in the same command as the lock.

local WINDOW = 3000000 -- us: how long a woken waiter may take before it loses its place

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

-- Notifies a waiter that has requested no hand-over that the lock is free. If it does not request the lock within the window,
-- it counts as dead: a client that has silently gone must not block a free lock.
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

-- Gives the lock to the waiter for its claim ttl, with tokens above the fence. Returns whether the waiter could be notified; nil
-- if the lock could not even be written.
local function hand_over(waiter, attempt, channel, claim, reserve, holder, fence)
  local first = math.max(fence + 1, now)
  local last = first + reserve - 1
  if first > 9007199254740992 - reserve then
    return nil
  end
  -- This must be the first write: after it, Redis no longer refuses the script for lack of memory.
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

-- Gives a free lock to the first waiter that can be reached, unless that is the caller. Drops the waiters before it, whose
-- channels have no subscriber. Returns whether the caller comes before all other waiters; after a refusal, the result has no
-- meaning.
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

-- Runs even if no client waits: after a first write, Redis no longer refuses the script for lack of memory; and if Redis refuses
-- writes, this command reports it.
forget(owner)

local fence_text = redis.call('MGET', FENCE)[1]
local fence = number_in(fence_text)
if fence and not fence_text and redis.call('EXISTS', FENCE) == 1 then
  fence = nil
end
if fence then
  local raised = math.min(ballot, math.max(fence, now) + BOUND)
  -- A ballot that does not exceed TIME - RETENTION is refused even without a fence.
  if raised > math.max(fence, now - RETENTION) then
    local ms = digits(math.ceil((math.max(raised, now) + RETENTION - now) / 1000))
    try('SET', FENCE, digits(raised), 'PX', ms)
    fence = raised
  end
end
if refusal and not released then
  return refusal
end

-- If another program wrote the fence, the lock is not granted to any waiter.
if fence and queued and redis.call('EXISTS', LOCK) == 0 then
  serve_first(owner, fence)
end
if refusal and not released then
  return refusal
end
return with_refusal({released and 'released' or 'not-ours'})
