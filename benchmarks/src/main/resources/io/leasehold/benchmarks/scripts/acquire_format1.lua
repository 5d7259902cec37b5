-- acquire.lua of wire format 1, whose queue was a sorted set and a hash; only for comparison.
-- Proposes a ballot. The caller gets the lock if the ballot exceeds the floor and the lock is free or already the
-- caller's; otherwise it may join the queue of waiters.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  queued
--   4  waiters
--   5  asked
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"; the owner token is 40 lower-case hexadecimal digits
--   2  ttl in ms
--   3  candidate: the fencing token proposed
--   4  last: candidate + reserve - 1; without it, the candidate
--   5  place in ms: how long a place in the queue is kept without a new request; absent or 0: the caller does not wait
--   6  channel on which the caller is notified
--   7  claim in ms: how long the caller keeps the lock after a hand-over; 0: the caller is only woken
-- Replies (numbers are decimal strings; now is TIME in us)
--   {s, us}                                     the lock is the caller's, fence = last; s and us are the two parts of TIME
--   {"yes", now}                                the same, if others wait or the lock was already the caller's
--   {"stale", now, floor}                       the candidate does not exceed the floor
--   {"refused", now, limit}                     last is beyond the limit max(fence, TIME) + bound
--   {"held", now, state, text, pttl}            the lock is not the caller's, and the caller is not in the queue
--   {"queued", now, state, text, pttl}          the lock is not the caller's; the caller is in the queue
--       state "lock": text is "<token>:<holder id>" of the holder; "foreign": another program wrote the key, and text is
--       its type; "ahead": the lock is free, but others wait before the caller. pttl in ms, -1 if the key does not expire.
--       The script first hands a free lock to its first waiter, which is then the holder.
--   {"broken", now, key, type}                  a side key has a foreign value
--   If others wait for the lock, the reply may end with "besides", error: the command that was refused while they were served
-- Errors
--   Those of Redis (OOM, READONLY, NOPERM ...). The first write decides; after an error the lock is unchanged.
--   If the right +pttl, +hset or +pexpire is missing, a place in the queue may remain after the error, in WAITERS without a
--   ttl; the next waiter that joins drops it, once it counts as dead.

local RETENTION = 60000000 -- us: the floor is never below TIME - RETENTION, and the fence stays until max(fence, TIME) + RETENTION
local BOUND = 7500000 -- us: how far ahead of max(fence, TIME) a ballot may be

local LOCK, FENCE, QUEUED, WAITERS, ASKED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local last_text = ARGV[4] or ARGV[3]
local candidate, last = tonumber(ARGV[3]), tonumber(last_text)

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
local value, fence_text, queued = unpack(redis.call('MGET', LOCK, FENCE, QUEUED))

-- The common case: the lock is free, no client waits, and the ballot is acceptable. It precedes all functions, since
-- creating them takes the server as long again.
if not value and not queued then
  local fence = 0
  if fence_text then
    fence = #fence_text <= 16 and fence_text:find('^%d+$') and tonumber(fence_text)
  end
  if fence and candidate > fence and candidate > now - RETENTION and last <= (fence > now and fence or now) + BOUND
    and redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2], 'NX') then
    local ms = last > now and math.ceil((last + RETENTION - now) / 1000) or '60000'
    if fence_text then
      redis.call('SET', FENCE, last_text, 'PX', ms)
    elseif not redis.call('SET', FENCE, last_text, 'PX', ms, 'NX') then
      redis.call('DEL', LOCK)
      return {'broken', string.format('%.0f', now), FENCE, redis.call('TYPE', FENCE).ok}
    end
    return time
  end
end

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

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence then
  return broken(FENCE)
end
local floor = math.max(fence, now - RETENTION)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + BOUND
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

-- Writes the fence; returns whether that was possible.
local function raise_fence()
  local ms = digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000))
  if fence_text then
    return redis.call('SET', FENCE, last_text, 'PX', ms)
  end
  return redis.call('SET', FENCE, last_text, 'PX', ms, 'NX')
end

-- Acquires a free lock. Returns the reply, or false if the key exists.
local function take()
  if not redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2], 'NX') then
    return false
  end
  if not raise_fence() then
    redis.call('DEL', LOCK)
    return broken(FENCE)
  end
  return {'yes', digits(now)}
end

local owner = ARGV[1]:sub(1, 40)
local place = tonumber(ARGV[5] or 0)

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

-- The public part of the value of a lock key: never an owner token, never the text of another program.
local function public(value)
  if not value then
    return 'foreign', redis.call('TYPE', LOCK).ok
  end
  if value:sub(1, 40):match('^[0-9a-f]+$') and value:sub(41):match('^:%d*:') then
    return 'lock', value:sub(42, 600)
  end
  return 'foreign', 'string'
end

-- Removes the caller, which has the lock now, from the queue.
local function leave_queue()
  if queued then
    forget(owner)
    if redis.call('EXISTS', WAITERS) == 0 then
      redis.call('DEL', QUEUED)
    end
  end
end

-- Joins the queue, or records that the waiter is still alive. Returns whether that was possible.
local function join()
  drop_dead()
  local alive = digits(-(now + place * 1000))
  local added
  if try('ZSCORE', WAITERS, 'q' .. owner) then
    added = try('ZADD', WAITERS, alive, 'a' .. owner)
  else
    local latest = try('ZREVRANGE', WAITERS, 0, 0, 'WITHSCORES')
    if not refusal then
      local arrival = math.max(now, latest and latest[2] and tonumber(latest[2]) + 1 or 0)
      added = try('ZADD', WAITERS, digits(arrival), 'q' .. owner, alive, 'a' .. owner)
    end
  end
  if not added then
    return false
  end
  local holder = ARGV[1]:match('^[^:]*:[^:]*:(.*)$') or ''
  local ms = digits(math.max(place, redis.call('PTTL', WAITERS)))
  redis.call('HSET', ASKED, owner, ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. digits(last - candidate + 1) .. ' ' .. holder)
  redis.call('PEXPIRE', ASKED, ms)
  redis.call('PEXPIRE', WAITERS, ms)
  redis.call('SET', QUEUED, '1', 'PX', ms)
  return true
end

if value and value:sub(1, 41) == owner .. ':' then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end
  local ttl = digits(math.max(tonumber(ARGV[2]), redis.call('PTTL', LOCK)))
  -- This must be the first write: after it, Redis no longer refuses the script for lack of memory, and a hand-over by a full
  -- server must be confirmed.
  redis.call('PEXPIRE', LOCK, ttl)
  raise_fence()
  redis.call('SET', LOCK, ARGV[1], 'PX', ttl)
  leave_queue()
  return with_refusal({'yes', digits(now)})
end

local ahead = false
if queued and not value and redis.call('EXISTS', LOCK) == 0 then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end
  -- Only a waiter that can still be notified gets the lock before the caller.
  local first = serve_first(owner, fence)
  if refusal then
    return refusal
  end
  if first then
    leave_queue()
    return with_refusal(take())
  end
  value = redis.call('MGET', LOCK)[1]
  ahead = not value
end

local answer = 'held'
if place > 0 then
  for key, wanted in pairs({[WAITERS] = 'zset', [ASKED] = 'hash'}) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= wanted and kind ~= 'none' then
      return broken(key)
    end
  end
  if join() then
    answer = 'queued'
  elseif not refusal.err:find('OOM', 1, true) then
    return refusal
  end
end
if ahead then
  return with_refusal({answer, digits(now), 'ahead', '', '-1'})
end
local state, text = public(value)
return with_refusal({answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))})
