-- member_acquire.lua, Leasehold wire format 2
-- Proposes a ballot to a member of a set of nodes: as acquire.lua, with two differences. The node first checks that it
-- belongs to this set and has kept its data for long enough. And it has no queue: a caller that does not get the lock may be
-- woken, but has no claim to the lock. While it waits, it keeps out readers with a later place; readers that wait keep it out in
-- the same way.
--
-- KEYS
--   1  lock
--   2  fence
--   3  watchers: the clients that wait to write
--   4  marker: "born|<us>|<run id>|<configuration>" or "unborn|<nonce>|<run id>"; the only key that does not expire
--   5  read watchers: the clients that wait to read
--   6  readers: as in acquire.lua; only its name is used, in messages
--   7  readers wait: "1" while the read watchers exist
-- ARGV (numbers are decimal strings)
--   1  value: "<owner token>:<candidate>:<holder id>"
--   2  ttl in ms
--   3  candidate: the fencing token proposed
--   4  last: candidate + reserve - 1
--   5  retention in us
--   6  bound in us
--   7  place in ms: how long the node wakes the caller without a new request; 0: the caller does not wait
--   8  channel on which the caller is woken
--   9  order in us: the caller's place, the same at every node: the first candidate of its wait. 1: the caller holds the lock at
--      other nodes, and comes before all others; 0: it does not wait, and comes after them
--  10  configuration of the set as the caller knows it
--  11  estimate in us: the clock of the set, from which the candidate was derived
--  12  quarantine in us: the age of its memory from which on the node grants
--  13  life: how the marker is compared with the present life of the server, since each life needs a birth. A run id, as the
--      server reported it on the connection of this request: if the marker has another one, INFO decides. "volatile": INFO
--      decides. "durable": only an absent marker means that the node has lost its data
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"unborn", now, nonce}                      the node does not know the age of its memory; see member_birth.lua
--   {"other", now, configuration}               the node is a member of another set
--   {"young", now, left}                        the node grants nothing for this many us more
--   {s, us}                                     yes, for a free lock that no other client wants; the two parts of TIME
--   {"yes", now}, {"stale", now, floor}, {"refused", now, limit}, {"broken", now, key, type}: as acquire.lua
--   {"held", now, state, text, pttl}            the lock is not the caller's, and the node does not wake the caller.
--                                               State "ahead": the lock is free, and readers that wait come first
--   {"queued", now, state, text, pttl}          the lock is not the caller's; the node will wake the caller
--   Each of these may end with "besides", error: a command that was refused meanwhile
-- Errors
--   Those of Redis (OOM, READONLY, NOPERM ...). The first write decides; after an error the lock is unchanged.
--   If the right +pttl or +pexpire is missing, a watcher may remain after the error, in WATCHERS without a ttl; the next
--   watcher that joins drops it, once it counts as dead.

local LOCK, FENCE, WATCHERS, BIRTH, READ_WATCHERS, READERS, READERS_WAIT = unpack(KEYS)
local candidate, last = tonumber(ARGV[3]), tonumber(ARGV[4])
local retention = tonumber(ARGV[5])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
local value, fence_text, marker, waits = unpack(redis.call('MGET', LOCK, FENCE, BIRTH, READERS_WAIT))

local born, life, configuration
if marker then
  born, life, configuration = marker:match('^born|(%d+)|(%w+)|(.*)$')
end
-- A caller with another run id may be wrong, and its requests must not remove a marker of the present life: ask the server.
local lives = born and (life == ARGV[13] or ARGV[13] == 'durable'
  or redis.call('INFO', 'server'):find('run_id:' .. life .. '\r', 1, true))
local left = lives and tonumber(ARGV[12]) - (tonumber(ARGV[11]) - tonumber(born))

-- The common case: the node grants, the lock is free, the ballot is acceptable, and no reader waits, which may come first. It
-- precedes all functions, since creating them takes the server as long again.
if left and left <= 0 and configuration == ARGV[10] and not value then
  local fence = 0
  if fence_text then
    fence = #fence_text <= 16 and fence_text:match('^%d+$') and tonumber(fence_text)
  end
  local watched
  if fence and candidate > math.max(fence, now - retention) and last <= math.max(fence, now) + tonumber(ARGV[6]) then
    watched = redis.pcall('EXISTS', WATCHERS, READ_WATCHERS)
  end
  if watched and waits ~= '1' and (watched == 0 or redis.pcall('EXISTS', READ_WATCHERS) ~= 1)
    and redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2], 'NX') then
    local ms = string.format('%.0f', math.ceil((math.max(last, now) + retention - now) / 1000))
    if fence_text then
      redis.call('SET', FENCE, ARGV[4], 'PX', ms)
    elseif not redis.call('SET', FENCE, ARGV[4], 'PX', ms, 'NX') then
      redis.call('DEL', LOCK)
      return {'broken', string.format('%.0f', now), FENCE, redis.call('TYPE', FENCE).ok}
    end
    if watched == 0 then
      return time
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

-- shared: member

if not left or left > 0 or configuration ~= ARGV[10] then
  return not_a_member(marker, ARGV[10], ARGV[11], ARGV[12], ARGV[13])
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

-- Writes the fence; returns whether that was possible.
local function raise_fence()
  local ms = digits(math.ceil((math.max(last, now) + retention - now) / 1000))
  if fence_text then
    return redis.call('SET', FENCE, ARGV[4], 'PX', ms)
  end
  return redis.call('SET', FENCE, ARGV[4], 'PX', ms, 'NX')
end

-- shared: attempts

-- shared: tell

local WINDOW = 3000000 -- us: as in shared/handed.lua

-- shared: watchers

-- shared: holder

-- shared: watch

local owner = ARGV[1]:sub(1, 40)
local channel = ARGV[8]

if value and value:sub(1, 41) == owner .. ':' then
  if not fence_text and redis.call('EXISTS', FENCE) == 1 then
    return broken(FENCE)
  end
  local ttl = digits(math.max(tonumber(ARGV[2]), redis.call('PTTL', LOCK)))
  -- This must be the first write: after it, Redis no longer refuses the script for lack of memory.
  redis.call('PEXPIRE', LOCK, ttl)
  raise_fence()
  redis.call('SET', LOCK, ARGV[1], 'PX', ttl)
  forget(WATCHERS, channel)
  return with_refusal({'yes', digits(now)})
end

-- Readers wait, or another program has written the key of the lock.
local is_free = not value and redis.call('EXISTS', LOCK) == 0
if is_free and not is_kept_out(READ_WATCHERS, ARGV[9], READERS, true) then
  if raise_fence() then
    redis.call('SET', LOCK, ARGV[1], 'PX', ARGV[2])
    forget(WATCHERS, channel)
    end_readers_wait()
    return with_refusal({'yes', digits(now)})
  end
  return broken(FENCE)
end
return not_now(WATCHERS, channel, ARGV[9], tonumber(ARGV[7]), is_free)
