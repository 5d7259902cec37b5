-- acquire.lua, Leasehold wire format 1
-- Proposes a ballot: takes the lock if the ballot beats the floor and the lock is free or already the caller's;
-- else the caller may join the queue of waiters.
--
-- KEYS (all in one slot)
--   1  lock
--   2  fence
--   3  waiters
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  holder id, readable
--   3  ttl in ms
--   4  candidate: the fencing token proposed
--   5  last: candidate + reserve - 1
--   6  retention in us: the floor is never below TIME - retention
--   7  keep in us: the fence stays until max(fence, TIME) + keep
--   8  bound in us: how far ahead of max(fence, TIME) a ballot may be
--   9  place in ms: how long a place in the queue is kept without being asked for again; 0: the caller does not wait
--  10  channel on which the caller is woken
--  11  window in us: how long a waiter that was woken may take before its place is lost
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"yes", now}                                the lock is the caller's; fence = last
--   {"stale", now, floor}                       the candidate does not beat the floor
--   {"refused", now, limit}                     last is beyond the limit max(fence, TIME) + bound
--   {"held", now, state, text, pttl}            not the caller's, and the caller is not in the queue
--   {"queued", now, state, text, pttl}          not the caller's; the caller is in the queue
--       state "lock": text is "<token>:<holder id>" of the holder; "foreign": text is the type of the key, written by
--       something else; "ahead": the lock is free, but others wait before the caller. pttl in ms, -1 without end.
--   {"broken", now, key, type}                  a side key holds something else
-- Errors
--   Redis' own (OOM, READONLY, NOPERM ...). The first write is that of the fence or of the queue: an error leaves the
--   lock as it was.

local LOCK, FENCE, WAITERS = KEYS[1], KEYS[2], KEYS[3]
local owner = ARGV[1]
local ttl = tonumber(ARGV[3])
local candidate = tonumber(ARGV[4])
local last = tonumber(ARGV[5])
local retention = tonumber(ARGV[6])
local keep = tonumber(ARGV[7])
local bound = tonumber(ARGV[8])
local place = tonumber(ARGV[9])
local me = owner .. ':' .. ARGV[10]
local window = tonumber(ARGV[11])

-- shared: numbers
-- Lua prints large numbers as 1.7e+15; the wire wants all their digits.
local function digits(number)
  return string.format('%.0f', number)
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- end shared

-- shared: text
-- The text at a key, false if there is none, nil if the key is of another type.
local function text_at(key)
  local text = redis.pcall('GET', key)
  if type(text) ~= 'table' then
    return text
  end
  if text.err:find('WRONGTYPE', 1, true) then
    return nil
  end
  -- Anything else, for example a missing right, is the caller's to hear: asking again raises it.
  return redis.call('GET', key)
end
-- end shared

-- shared: fence
-- The number at a key, 0 if there is none, nil if the key holds anything else.
local function number_at(key)
  local text = text_at(key)
  if text == false then
    return 0
  end
  if text and #text <= 16 and text:match('^%d+$') then
    return tonumber(text)
  end
  return nil
end

-- Writes the fence; it stays until max(fence, TIME) + keep, and as long as it was to stay before.
local function write_fence(value)
  local ms = math.ceil((math.max(value, now) + keep - now) / 1000)
  local left = redis.pcall('PTTL', FENCE)
  if type(left) == 'number' and left > ms then
    ms = left
  end
  return redis.pcall('SET', FENCE, digits(value), 'PX', digits(ms))
end
-- end shared

-- shared: holder
-- Whether a value was written under an owner token.
local function is_of(value, token)
  return type(value) == 'string' and value:sub(1, 41) == token .. ':'
end

-- What may be told of a value: never an owner token, never a stranger's text.
local function public(value, key)
  if type(value) ~= 'string' then
    local kind = redis.pcall('TYPE', key)
    return 'foreign', kind.ok or 'unknown'
  end
  if value:sub(1, 40):match('^[0-9a-f]+$') and value:sub(41):match('^:%d*:') then
    return 'lock', value:sub(42, 600)
  end
  return 'foreign', 'string'
end
-- end shared

-- shared: queue
-- The queue is one sorted set with two members for each waiter w = "<owner token>:<channel>":
--   "q<w>"  score: its place, in the order of arrival (us, always > 0)
--   "a<w>"  score: minus the time (us) until which it counts as alive

local function forget(waiter)
  redis.pcall('ZREM', WAITERS, 'q' .. waiter, 'a' .. waiter)
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

-- Tells the first waiter that can be reached, unless that is the caller; those that nobody listens for are dropped.
-- Whoever is told has the window to come, and then counts as dead: a client that vanished without a word must not keep a
-- free lock from the others.
local function wake_first(caller)
  drop_dead()
  for _ = 1, 64 do
    local waiter = first_waiter()
    if not waiter or waiter == caller then
      return
    end
    local attempt = redis.sha1hex(waiter:sub(1, 40)):sub(1, 16)
    local reached = redis.pcall('PUBLISH', waiter:sub(42), 'wake ' .. attempt .. ' ' .. digits(now) .. ' ' .. LOCK)
    if reached ~= 0 then
      local alive = redis.pcall('ZSCORE', WAITERS, 'a' .. waiter)
      if not alive or -tonumber(alive) > now + window then
        redis.pcall('ZADD', WAITERS, digits(-(now + window)), 'a' .. waiter)
      end
      return
    end
    forget(waiter)
  end
end
-- end shared

-- Joins the queue, or shows that its waiter is still there. Whether it is in the queue now.
local function join()
  drop_dead()
  local known = redis.pcall('ZSCORE', WAITERS, 'q' .. me)
  if not known then
    local latest = redis.pcall('ZREVRANGE', WAITERS, 0, 0, 'WITHSCORES')[2]
    local arrival = math.max(now, latest and tonumber(latest) + 1 or 0)
    local added = redis.pcall('ZADD', WAITERS, digits(arrival), 'q' .. me)
    if type(added) == 'table' then
      if added.err:find('OOM', 1, true) then
        return false
      end
      return redis.call('ZADD', WAITERS, digits(arrival), 'q' .. me)
    end
  end
  redis.pcall('ZADD', WAITERS, digits(-(now + place * 1000)), 'a' .. me)
  if redis.pcall('PTTL', WAITERS) < place then
    redis.pcall('PEXPIRE', WAITERS, digits(place))
  end
  return true
end

local fence = number_at(FENCE)
if not fence then
  return {'broken', digits(now), FENCE, redis.call('TYPE', FENCE).ok}
end
local queue = redis.call('TYPE', WAITERS).ok
if queue ~= 'zset' and queue ~= 'none' then
  return {'broken', digits(now), WAITERS, queue}
end

local floor = math.max(fence, now - retention)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + bound
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

local value = text_at(LOCK)
local own = is_of(value, owner)
local ahead = false
if value == false and queue == 'zset' then
  -- Only a waiter that can still hear of it keeps the lock from the caller.
  if (first_waiter() or me) ~= me then
    wake_first(me)
    ahead = (first_waiter() or me) ~= me
  end
end

if own or (value == false and not ahead) then
  local written = write_fence(last)
  if written.err then
    return written
  end
  if own then
    ttl = math.max(ttl, redis.call('PTTL', LOCK))
  end
  redis.call('SET', LOCK, owner .. ':' .. ARGV[4] .. ':' .. ARGV[2], 'PX', digits(ttl))
  if queue == 'zset' then
    forget(me)
  end
  return {'yes', digits(now)}
end

local answer = place > 0 and join() and 'queued' or 'held'
if ahead then
  return {answer, digits(now), 'ahead', '', '-1'}
end
local state, text = public(value, LOCK)
return {answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))}
