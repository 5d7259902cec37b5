-- The clients that want to be woken, in two sorted sets: WATCHERS has those that want to write, and READ_WATCHERS those that want to
-- read. Each has two members for each channel c:
--   "q<c>"  score: its place, the same at every node of the set (us, always > 0)
--   "a<c>"  score: minus the time (us) until which it counts as alive
-- They have no claim to the lock: a free lock goes to any client that requests it and is not kept out. A client is kept out by those
-- that want the other kind and have an earlier place.
-- READERS_WAIT has the text "1" while READ_WATCHERS exists, and tells that to a script that reads strings only. It decides no grant: with
-- the text but without the set, the whole script runs and deletes it; without the text, a writer may pass a waiting reader.
-- waits: the text, as MGET found it. Another text, or another type, is of another program, and is not changed.

local function forget(set, channel)
  try('ZREM', set, 'q' .. channel, 'a' .. channel)
end

local function drop_dead(set)
  local dead = try('ZRANGEBYSCORE', set, digits(-now), '(0', 'LIMIT', 0, 64)
  for _, member in ipairs(dead or {}) do
    forget(set, member:sub(2))
  end
end

-- Called where READ_WATCHERS may have become empty. In the script that adds a client to it, waits is not up to date.
local function end_readers_wait()
  if waits == '1' and try('EXISTS', READ_WATCHERS) == 0 then
    try('DEL', READERS_WAIT)
  end
end

-- Notifies a client. One that cannot be reached is dropped; the others count as alive for the window, unless their time ends earlier.
local function wake(set, channel, key)
  if not tell(channel, 'wake 0000000000000000 ' .. digits(now) .. ' ' .. key) then
    forget(set, channel)
    return false
  end
  try('ZADD', set, 'GT', digits(-(now + WINDOW)), 'a' .. channel)
  return true
end
