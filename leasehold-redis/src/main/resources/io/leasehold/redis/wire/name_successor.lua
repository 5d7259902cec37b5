-- name_successor.lua, Leasehold wire format 2
-- Puts one waiter before all others, on behalf of the holder, which releases the lock after that: the first waiter in the
-- queue with this holder id that wants the lock alone. The others keep their order. Once the waiter was served, as the first of
-- the queue, nothing is left of its preference. Repeating the script is harmless, and it does nothing once the owner token
-- does not hold the lock.
--
-- KEYS (all in one slot)
--   1  lock
--   2  queued
--   3  behind
--   4  wanted
-- ARGV
--   1  owner token of the holder, 40 lower-case hexadecimal digits
--   2  holder id of the waiter
-- Replies
--   {"first"}        the waiter is the first of the queue
--   {"not-waiting"}  no waiter has this holder id; nothing was changed
--   {"not-ours"}     the owner token does not hold the lock; nothing was changed
--   {"broken", now, key, type}, {"version", now, key, theirs, ours}: as acquire.lua
-- Errors
--   Those of Redis. The waiter then has its former place, or none until it asks again.

local SOUGHT = 1000 -- the most waiters behind the front among which the waiter is sought

local LOCK, QUEUED, BEHIND, WANTED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holder = ARGV[2]

local value, queued = unpack(redis.call('MGET', LOCK, QUEUED))
if not value or value:sub(1, 41) ~= ARGV[1] .. ':' then
  return {'not-ours'}
elseif not queued then
  return {'not-waiting'}
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

-- shared: attempts

-- shared: version

-- shared: put

-- shared: queue

if not read_queue() then
  return not_a_queue(QUEUED, queued)
end
drop_dead()

-- The entry in front, and where it begins and ends; nothing if there is none.
local function in_front()
  local from = base
  while from <= #text do
    local alive, kind, id, to = text:match('^\n%S+ %d+ (%d+) %S+ (r?)%d+ %d+ ([^\n]*)()', from)
    to = to or text:find('\n', from + 1, true) or #text + 1
    if kind == '' and id == holder and tonumber(alive) > now then
      return text:sub(from, to - 1), from, to - 1
    end
    from = to
  end
end

-- The owner token, the arrival and the rest of the entry behind the front; nothing if there is none.
local function further_behind()
  for skipped = 0, behind > 0 and SOUGHT - 1 or -1, 500 do
    local found = redis.call('ZRANGEBYSCORE', BEHIND, '1', '+inf', 'WITHSCORES', 'LIMIT', digits(skipped), '500')
    local owners = {}
    for i = 1, #found, 2 do
      owners[#owners + 1] = found[i]:sub(2)
    end
    if #owners == 0 then
      return
    end
    for i, wanted in ipairs(redis.call('HMGET', WANTED, unpack(owners))) do
      local alive, kind, id = (wanted or ''):match('^(%d+) %S+ (r?)%d+ %d+ ([^\n]*)$')
      if kind == '' and id == holder and tonumber(alive) > now then
        return owners[i], tonumber(found[2 * i]), wanted, tonumber(alive)
      end
    end
  end
end

local entry, from, to = in_front()
if from == base then
  return {'first'}
elseif entry then
  replace(from, to, '')
else
  local waiter, arrival, wanted, alive = further_behind()
  if not waiter then
    return {'not-waiting'}
  end

-- shared: behind

  -- First: a waiter with two places would be served twice.
  leave_behind(waiter)
  if refusal then
    return refusal
  end
  entry = '\n' .. waiter .. ' ' .. digits(arrival) .. ' ' .. wanted
  soonest = math.min(soonest, alive)
end
text, base, changed = entry .. text:sub(base), 1, true
write_queue()
return refusal or {'first'}
