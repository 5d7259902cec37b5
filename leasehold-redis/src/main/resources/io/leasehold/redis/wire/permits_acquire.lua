-- permits_acquire.lua, Leasehold wire format 2
-- Proposes a ballot for permits: numbered slots of a name, as many as tokens are reserved, all or none. The caller gets the
-- slots that it already holds, or else the lowest free ones, if the ballot exceeds the floor and no client waits before it;
-- otherwise it may join the queue. The slots have the tokens from candidate on, in ascending order.
--
-- KEYS (all in one slot of a Cluster)
--   1  permits: the record, see shared/permits.lua
--   2  queued, 3  behind, 4  wanted: the queue, as in acquire.lua
--   5  lock, 6  its fence: the exclusive lock of the same name, which must not exist when the permits are first used
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  holder id
--   3  ttl in ms
--   4  candidate: the fencing token proposed
--   5  last: candidate + the number of permits wanted - 1
--   6  count: the number of permits that the caller states
--   7  place in ms, 8  channel, 9  claim in ms, 10  run id of this server: as in acquire.lua; absent: the caller does not wait
-- Replies (numbers are decimal strings; now is TIME in us)
--   {"yes", now, slot, ...}                the slots are the caller's, fence = last
--   {"count", now, kept}                   the record has another number of permits
--   {"lock", now}                          an exclusive lock of this name is held, or was used a moment ago
--   {"stale", now, floor}, {"refused", now, limit}: as acquire.lua
--   {"held", now, "lock", text, left}      too few slots are free, or others wait before the caller; it is not in the queue
--   {"queued", now, "lock", text, left}    the same; the caller is in the queue
--       text is "<token>:<holder id>" of the hold that ends first, left its time in ms. If enough are free, but others wait before
--       the caller, they are {"held", now, "ahead", "", "-1"} and so on. The script first hands free slots to the first waiters.
--   {"broken", now, key, type}, {"version", now, key, theirs, ours}: as acquire.lua
--   A reply may end with "besides", error: the command that was refused while others were served
-- Errors
--   Those of Redis. After an error, the caller holds no slot that it did not hold before.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in acquire.lua

local PERMITS, QUEUED, BEHIND, WANTED, LOCK, LOCK_FENCE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local owner, candidate, last = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5])
local stated, place, RUN_ID = tonumber(ARGV[6]), tonumber(ARGV[7] or 0), ARGV[10]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local queued = redis.call('MGET', QUEUED)[1]

-- The common case: one permit, no client waits, the record is kept, no hold in it has ended, and the ballot is acceptable. It
-- precedes all functions, since creating them takes the server as long again.
if not queued and candidate == last and candidate > now - RETENTION then
  local all = redis.pcall('HGETALL', PERMITS)
  local count, fence, latest_end = nil, nil, now + tonumber(ARGV[3]) * 1000
  local held, is_plain = {}, not all.err
  local ends_text = string.format('%.0f', latest_end)
  for i = 1, is_plain and #all or 0, 2 do
    local field, value = all[i], all[i + 1]
    if field == 'count' then
      count = value == ARGV[6] .. ' ' .. ARGV[6] and stated
    elseif field == 'fence' then
      fence = #value <= 16 and value:find('^%d+$') and tonumber(value)
    else
      local of, ends = value:match('^(%x+):%d+:(%d+):')
      ends = tonumber(ends or 0)
      is_plain = is_plain and of ~= owner and ends > now and (field == '0' or field:find('^[1-9]%d*$'))
      held[field] = true
      latest_end = math.max(latest_end, ends)
    end
  end
  local slot = 0
  while count and slot < count and held[tostring(slot)] do
    slot = slot + 1
  end
  if is_plain and count and slot < count and fence and candidate > fence and last <= math.max(fence, now) + BOUND then
    local text = owner .. ':' .. ARGV[4] .. ':' .. ends_text .. ':' .. ARGV[2]
    redis.call('HSET', PERMITS, 'fence', ARGV[5], tostring(slot), text)
    local ms = math.ceil((math.max(latest_end, last) + RETENTION - now) / 1000)
    local expiry = redis.pcall('PEXPIRE', PERMITS, string.format('%.0f', ms))
    local answer = {'yes', string.format('%.0f', now), tostring(slot)}
    if type(expiry) == 'table' then
      answer[4], answer[5] = 'besides', expiry.err .. " (at the 'pexpire' command)"
    end
    return answer
  end
end

-- shared: numbers

-- shared: attempts

-- shared: version

-- shared: tell

-- shared: put

-- shared: queue

-- shared: permits

-- shared: handed

-- shared: serve_permits

-- shared: behind

-- shared: join

local function yes(slots)
  local answer = {'yes', digits(now)}
  for _, slot in ipairs(slots) do
    answer[#answer + 1] = digits(slot)
  end
  return with_refusal(answer)
end

if not read_permits() then
  return not_permits()
end
if count > 0 and count ~= stated then
  return {'count', digits(now), digits(count)}
end
if count == 0 and redis.call('EXISTS', LOCK, LOCK_FENCE) > 0 then
  return {'lock', digits(now)}
end
local floor = math.max(fence, now - RETENTION)
if candidate <= floor then
  return {'stale', digits(now), digits(floor)}
end
local limit = math.max(fence, now) + BOUND
if last > limit then
  return {'refused', digits(now), digits(limit)}
end

local own = slots_of(owner)
local wanted, ends = last - candidate + 1, now + tonumber(ARGV[3]) * 1000
if own then
  local fields = hold_slots(own, owner, candidate, math.max(ends, held[own[1]].ends), ARGV[2])
  fence = last
  if not write_permits('fence', digits(last), unpack(fields)) then
    return refusal
  end
  -- The holder no longer waits.
  if read_queue() then
    forget(owner)
    write_queue()
  end
  return yes(own)
end

if not read_queue() then
  return not_a_queue(QUEUED, queued)
end
if count == 0 then
  count, version = stated, stated
end
local slots = serve_permits(owner, wanted)
if slots and candidate <= fence then
  -- Others were served with larger tokens.
  clean_permits()
  write_queue()
  return with_refusal({'stale', digits(now), digits(fence)})
elseif slots then
  local fields = hold_slots(slots, owner, candidate, ends, ARGV[2])
  fence = last
  redis.call('HSET', PERMITS, 'fence', digits(last), 'count', count_text(), unpack(fields))
  expire()
  forget(owner)
  -- A waiter that was only woken has stopped the hand-over of further free slots.
  serve_permits('')
  clean_permits()
  write_queue()
  return yes(slots)
end
if refusal then
  clean_permits()
  write_queue()
  return refusal
end

clean_permits()
local answer = 'held'
if place > 0 then
  local asked = ARGV[8] .. ' ' .. ARGV[9] .. ' ' .. digits(last - candidate + 1) .. ' ' .. (ARGV[2]:match('^[^\n]*'))
  local joined, key = join(owner, place * 1000, asked)
  if joined then
    answer = 'queued'
  elseif joined == false then
    write_queue()
    return {'broken', digits(now), key, redis.call('TYPE', key).ok}
  elseif not refusal.err:find('OOM', 1, true) then
    write_queue()
    return refusal
  end
else
  write_queue()
end
local first
for _, other in pairs(held) do
  first = first and first.ends <= other.ends and first or other
end
if not first or lowest_free(wanted) then
  return with_refusal({answer, digits(now), 'ahead', '', '-1'})
end
local left = digits(math.ceil((first.ends - now) / 1000))
return with_refusal({answer, digits(now), 'lock', first.token .. ':' .. first.holder, left})
