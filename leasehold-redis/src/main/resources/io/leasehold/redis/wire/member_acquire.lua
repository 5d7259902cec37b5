-- member_acquire.lua, Leasehold wire format 2
-- Proposes a ballot to a member of a set of nodes: as acquire.lua, but first the node makes sure that it is of this set and
-- has remembered for long enough; and there is no queue: who finds the lock held may be woken, and has no claim to it.
--
-- KEYS
--   1  lock
--   2  fence
--   3  watchers
--   4  marker: "born|<us>|<run id>|<configuration>" or "unborn|<nonce>|<run id>"; the only key that does not expire
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"
--   2  ttl in ms
--   3  candidate: the fencing token proposed
--   4  last: candidate + reserve - 1
--   5  retention in us
--   6  bound in us
--   7  place in ms: how long the caller is woken without asking again; 0: it does not wait
--   8  channel on which the caller is woken
--   9  order in us: the caller's place, the same at every node
--  10  configuration of the set as the caller knows it
--  11  estimate in us: the clock of the set, from which the candidate was made
--  12  quarantine in us: the age of its memory from which on the node grants
--  13  life: each life of the process has to be born. The run id of the server, as the connection on which this is sent was told it:
--      if it is not that of the marker, INFO decides; or "volatile": INFO decides; or "durable": only an absent marker means that it
--      has forgotten
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"unborn", now, nonce}                      the node does not know since when it remembers; see member_birth.lua
--   {"other", now, configuration}               the node is a member of another set
--   {"young", now, left}                        the node grants nothing for so many us more
--   {s, us}                                     yes, for a lock that was free and that nobody else wants; TIME as it is
--   {"yes", now}, {"stale", now, floor}, {"refused", now, limit}, {"broken", now, key, type}: as acquire.lua
--   {"held", now, state, text, pttl}            not the caller's, and the caller is not woken
--   {"queued", now, state, text, pttl}          not the caller's; the caller will be woken
--   Each of these may end with "besides", error: what was refused on the way
-- Errors
--   Redis' own (OOM, READONLY, NOPERM ...). The first write decides; after an error the lock is as it was.
--   Where +pttl or +pexpire is missing, a watcher may stay after it, in WATCHERS without end; the next one that joins drops it,
--   once it counts as dead.

local LOCK, FENCE, WATCHERS, MARKER = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local candidate, last = tonumber(ARGV[3]), tonumber(ARGV[4])
local retention = tonumber(ARGV[5])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET is silent about keys of other types: what it does not find is only ever written with NX.
local value, fence_text, marker = unpack(redis.call('MGET', LOCK, FENCE, MARKER))

local born, life, configuration
if marker then
  born, life, configuration = marker:match('^born|(%d+)|(%w+)|(.*)$')
end
-- A caller that knows another run id may be wrong: a marker of the present life must outlast its requests.
local lives = born and (life == ARGV[13] or ARGV[13] == 'durable'
  or redis.call('INFO', 'server'):find('run_id:' .. life .. '\r', 1, true))
local left = lives and tonumber(ARGV[12]) - (tonumber(ARGV[11]) - tonumber(born))

-- The common case, written out before any function is made, which would take the server as long again: the node grants, the
-- lock is free, and the ballot is good.
if left and left <= 0 and configuration == ARGV[10] and not value then
  local fence = 0
  if fence_text then
    fence = #fence_text <= 16 and fence_text:match('^%d+$') and tonumber(fence_text)
  end
  if fence and candidate > math.max(fence, now - retention) and last <= math.max(fence, now) + tonumber(ARGV[6])
    and redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2], 'NX') then
    local ms = string.format('%.0f', math.ceil((math.max(last, now) + retention - now) / 1000))
    if fence_text then
      redis.call('SET', FENCE, ARGV[4], 'PX', ms)
    elseif not redis.call('SET', FENCE, ARGV[4], 'PX', ms, 'NX') then
      redis.call('DEL', LOCK)
      return {'broken', string.format('%.0f', now), FENCE, redis.call('TYPE', FENCE).ok}
    end
    local left_line = redis.pcall('ZREM', WATCHERS, 'q' .. ARGV[8], 'a' .. ARGV[8])
    if type(left_line) == 'table' and not left_line.err:find('WRONGTYPE', 1, true) then
      return {'yes', string.format('%.0f', now), 'besides', left_line.err .. " (at the 'zrem' command)"}
    end
    return redis.pcall('EXISTS', WATCHERS) == 0 and time or {'yes', string.format('%.0f', now)}
  end
end

-- shared: numbers

-- shared: life

if not lives then
  local me = run_id()
  local nonce, of
  if marker then
    nonce, of = marker:match('^unborn|([^|]+)|(%w+)$')
  end
  if not nonce or of ~= me then
    -- Names this life of the memory; it is no clock.
    nonce = me .. '-' .. digits(now)
    redis.call('SET', MARKER, 'unborn|' .. nonce .. '|' .. me)
  end
  return {'unborn', digits(now), nonce}
end
if configuration ~= ARGV[10] then
  return {'other', digits(now), configuration}
end
if left > 0 then
  return {'young', digits(now), digits(left)}
end

local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

local fence = number_in(fence_text)
if not fence then
  return broken(FENCE)
end
local floor = math.max(fence, now - retention)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + tonumber(ARGV[6])
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

-- Whether the fence could be written.
local function raise_fence()
  local ms = digits(math.ceil((math.max(last, now) + retention - now) / 1000))
  if fence_text then
    return redis.call('SET', FENCE, ARGV[4], 'PX', ms)
  end
  return redis.call('SET', FENCE, ARGV[4], 'PX', ms, 'NX')
end

-- shared: attempts

-- shared: watchers

-- shared: holder

local owner = ARGV[1]:sub(1, 40)
local channel = ARGV[8]

if value and value:sub(1, 41) == owner .. ':' then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end
  local ttl = digits(math.max(tonumber(ARGV[2]), redis.call('PTTL', LOCK)))
  -- Before anything is set: from a script that has written, memory is not refused any more.
  redis.call('PEXPIRE', LOCK, ttl)
  raise_fence()
  redis.call('SET', LOCK, ARGV[1], 'PX', ttl)
  forget(channel)
  return with_refusal({'yes', digits(now)})
end
-- Whether the caller will be woken.
local function watch(place)
  drop_dead()
  if not try('ZADD', WATCHERS, digits(-(now + place * 1000)), 'a' .. channel) then
    return false
  end
  redis.call('ZADD', WATCHERS, 'NX', ARGV[9], 'q' .. channel)
  local left_there = redis.call('PTTL', WATCHERS)
  redis.call('PEXPIRE', WATCHERS, digits(math.max(place, left_there)))
  return true
end

local answer = 'held'
local place = tonumber(ARGV[7])
if place > 0 then
  local kind = redis.call('TYPE', WATCHERS).ok
  if kind ~= 'zset' and kind ~= 'none' then
    return broken(WATCHERS)
  end
  if watch(place) then
    answer = 'queued'
  elseif not refusal.err:find('OOM', 1, true) then
    return refusal
  end
end
local state, text = public(value)
return with_refusal({answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))})
