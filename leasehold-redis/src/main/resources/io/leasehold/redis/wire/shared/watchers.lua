-- The clients that want to be woken: one sorted set with two members for each channel c:
--   "q<c>"  score: its place, the same at every node of the set (us, always > 0)
--   "a<c>"  score: minus the time (us) until which it counts as alive
-- They have no claim to the lock: a free lock goes to any client that requests it.

local function forget(channel)
  try('ZREM', WATCHERS, 'q' .. channel, 'a' .. channel)
end

local function drop_dead()
  local dead = try('ZRANGEBYSCORE', WATCHERS, digits(-now), '(0', 'LIMIT', 0, 64)
  for _, member in ipairs(dead or {}) do
    forget(member:sub(2))
  end
end
