-- member_release.lua, Leasehold wire format 2
-- Ends an owner token at a member of a set of nodes: as release.lua, but it hands nothing over; the first client that
-- wants to be woken is woken if the lock is free then. Repeating it is harmless.
--
-- KEYS
--   1  lock
--   2  fence
--   3  watchers
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
--   3  retention in us
--   4  bound in us: the fence is raised to at most max(fence, TIME) + bound
--   5  channel of the caller
--   6  window in us: how long a client that is woken counts as alive without asking
--   7  "leave": the caller wants to be woken no more; "stay": it does, its attempt goes on under another owner token, or
--      another attempt of its waits. Whoever releases is not told, also where it is the first
-- Replies
--   {"released"}        the lock was held by this owner token and is not any more
--   {"released", "woken"}  so it was, and a client was woken that wants it
--   {"not-ours"}        it was not
--   {"clamped", limit}  as one of these, but the ballot is beyond the limit: to be repeated, or a late copy of a request
--                       could be granted
--   Each may end with "besides", error: what was refused while a client was woken
-- Errors
--   Redis' own (NOREPLICAS, MISCONF, NOPERM ...); then the lock is as it was, and the owner token is not ended: to be
--   repeated. A deletion is not refused for lack of memory, nor is anything after it.

local LOCK, FENCE, WATCHERS = KEYS[1], KEYS[2], KEYS[3]
local owner, channel = ARGV[1], ARGV[5]
local value, fence_text = unpack(redis.call('MGET', LOCK, FENCE))

local released = value and value:sub(1, 41) == owner .. ':'
if released then
  redis.call('DEL', LOCK)
  -- The grant of the token in the value has raised the fence to it; only a higher ballot needs more.
  if value:sub(42, 42 + #ARGV[2]) == ARGV[2] .. ':' and redis.call('EXISTS', WATCHERS) == 0 then
    return {'released'}
  end
end

local ballot = tonumber(ARGV[2])
local retention = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- shared: numbers

-- shared: attempts

-- shared: tell

-- shared: watchers

-- Also where the caller stays ('q' alone is nobody): from a script that has written, memory is not refused any more; and where
-- writes are refused, this is the one that says so.
forget(ARGV[7] == 'leave' and channel or '')

local limit
local fence = number_in(fence_text)
if fence then
  limit = math.max(fence, now) + tonumber(ARGV[4])
  local raised = math.min(ballot, limit)
  -- What does not beat TIME - retention is refused without a fence.
  if raised > math.max(fence, now - retention) then
    local ms = digits(math.ceil((math.max(raised, now) + retention - now) / 1000))
    if fence_text then
      try('SET', FENCE, digits(raised), 'PX', ms)
    else
      try('SET', FENCE, digits(raised), 'PX', ms, 'NX')
    end
  end
end
if refusal and not released then
  return refusal
end

-- Tells the first client that can be reached; those that nobody listens for are dropped.
local woken = false
if redis.call('EXISTS', LOCK) == 0
  and redis.call('EXISTS', WATCHERS) == 1 then
  drop_dead()
  for _ = 1, 64 do
    local found = try('ZRANGEBYSCORE', WATCHERS, '1', '+inf', 'LIMIT', 0, 1)
    local first = found and found[1] and found[1]:sub(2)
    if not first or first == channel then
      break
    end
    if tell(first, 'wake 0000000000000000 ' .. digits(now) .. ' ' .. LOCK) then
      -- It counts as alive for that long, unless its time ends before.
      try('ZADD', WATCHERS, 'GT', digits(-(now + tonumber(ARGV[6]))), 'a' .. first)
      woken = true
      break
    end
    forget(first)
  end
end
if refusal and not released then
  return refusal
end
if limit and ballot > limit then
  return with_refusal({'clamped', digits(limit)})
end
if released and woken then
  return with_refusal({'released', 'woken'})
end
return with_refusal({released and 'released' or 'not-ours'})
