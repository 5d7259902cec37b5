-- The clients that want to be woken, in two sorted sets: WATCHERS has those that want to write, and READ_WATCHERS those that want to
-- read. Each has two members for each channel c:
--   "q<c>"  score: its place, the same at every node of the set (us, always > 0)
--   "a<c>"  score: minus the time (us) until which it counts as alive
-- They have no claim to the lock: a free lock goes to any client that requests it and is not kept out. A client is kept out by those
-- that want the other kind and have an earlier place.

local function forget(set, channel)
  try('ZREM', set, 'q' .. channel, 'a' .. channel)
end

local function drop_dead(set)
  local dead = try('ZRANGEBYSCORE', set, digits(-now), '(0', 'LIMIT', 0, 64)
  for _, member in ipairs(dead or {}) do
    forget(set, member:sub(2))
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
