-- member_release.lua, Leasehold wire format 2
-- Ends an owner token at a member of a set of nodes: as release.lua, but without a hand-over. If the lock is free then,
-- the script wakes the client that waits first, or all readers that wait before the first writer; if readers hold it, the latter
-- alone. Repeating the script is harmless.
--
-- KEYS
--   1  lock
--   2  fence
--   3  watchers, 4  read watchers: as in member_acquire.lua
--   5  readers: as in acquire.lua; only its name is used, in messages
--   6  readers wait: as in member_acquire.lua
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
--   3  retention in us
--   4  bound in us: the fence is raised to at most max(fence, TIME) + bound
--   5  channel of the caller
--   6  window in us: how long a woken client counts as alive without a new request
--   7  "leave": the caller no longer wants to be woken; "stay": it does, since its attempt continues under another owner
--      token or another of its attempts waits. The script does not notify the releasing client as a writer, even if it is the first
-- Replies
--   {"released"}           this owner token held the lock, and no longer does
--   {"released", "woken"}  the same, and a client that wants the lock was woken
--   {"not-ours"}           this owner token did not hold the lock
--   {"clamped", limit}     one of these, but the ballot is beyond the limit: the client must repeat the release, otherwise
--                          a late copy of a request could be granted
--   Each may end with "besides", error: the command that was refused while a client was woken
-- Errors
--   Those of Redis (NOREPLICAS, MISCONF, NOPERM ...). The lock is then unchanged and the owner token not ended: the client
--   must repeat the release. Redis refuses neither a deletion nor any later command for lack of memory.

local LOCK, FENCE, WATCHERS, READ_WATCHERS, READERS, READERS_WAIT = unpack(KEYS)
local WINDOW = tonumber(ARGV[6])
local owner, channel = ARGV[1], ARGV[5]
local value, fence_text, waits = unpack(redis.call('MGET', LOCK, FENCE, READERS_WAIT))

local released = value and value:sub(1, 41) == owner .. ':'
if released then
  redis.call('DEL', LOCK)
  -- The grant has raised the fence to the token in the value; only a higher ballot needs a further write.
  if value:sub(42, 42 + #ARGV[2]) == ARGV[2] .. ':' and redis.call('EXISTS', WATCHERS, READ_WATCHERS) == 0 then
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

-- shared: wake

-- Runs even if the caller stays (no client is named 'q' alone): after a first write, Redis no longer refuses the script for
-- lack of memory; and if Redis refuses writes, this command reports it.
forget(WATCHERS, ARGV[7] == 'leave' and channel or '')

local limit
local fence = number_in(fence_text)
if fence then
  limit = math.max(fence, now) + tonumber(ARGV[4])
  local raised = math.min(ballot, limit)
  -- A ballot that does not exceed TIME - retention is refused even without a fence.
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

local woken = false
if redis.call('EXISTS', WATCHERS, READ_WATCHERS) > 0 then
  local is_free = redis.call('EXISTS', LOCK) == 0
  -- The value of readers is that of shared/readers.lua; the reader that took the place of this writer has it, too.
  if is_free or value == string.rep('0', 40) .. '::readers' then
    woken = wake_first(is_free, WATCHERS, channel)
  end
end
if refusal and not released then
  return refusal
end
end_readers_wait()
if limit and ballot > limit then
  return with_refusal({'clamped', digits(limit)})
end
if released and woken then
  return with_refusal({'released', 'woken'})
end
return with_refusal({released and 'released' or 'not-ours'})
