-- A caller that does not get the lock.

-- Whether a client of this set, whose kind is not that of the caller, comes before it. order: the place of the caller; 0 is behind all.
-- key: for messages to those of this set. If the lock is free, the first of them is woken, since it may have missed the last message;
-- one that cannot be reached keeps out no client.
local function is_kept_out(set, order, key, is_free)
  drop_dead(set)
  for _ = 1, 64 do
    local first = try('ZRANGEBYSCORE', set, '1', order == '0' and '+inf' or '(' .. order, 'LIMIT', 0, 1)
    if not first or not first[1] then
      return false
    elseif not is_free or wake(set, first[1]:sub(2), key) then
      return true
    end
  end
  return true
end

-- Records the caller in this set with its present place, since another attempt of the same client may have had an earlier one. Such a
-- place would keep out a client that keeps out the caller. ms: how long it counts as alive. Returns whether that was possible.
local function watch(set, channel, order, ms)
  drop_dead(set)
  if not try('ZADD', set, digits(-(now + ms * 1000)), 'a' .. channel) then
    return false
  end
  try('ZADD', set, order, 'q' .. channel)
  local left = digits(math.max(ms, redis.call('PTTL', set)))
  redis.call('PEXPIRE', set, left)
  if set == READ_WATCHERS and waits == '1' then
    try('SET', READERS_WAIT, '1', 'PX', left)
  elseif set == READ_WATCHERS then
    try('SET', READERS_WAIT, '1', 'PX', left, 'NX')
  end
  return true
end

-- The reply to a caller that does not get the lock. It joins the set if it waits: ms > 0.
local function not_now(set, channel, order, ms, is_free)
  local answer = 'held'
  if ms > 0 then
    local kind = redis.call('TYPE', set).ok
    if kind ~= 'zset' and kind ~= 'none' then
      return broken(set)
    end
    if watch(set, channel, order, ms) then
      answer = 'queued'
    elseif not refusal.err:find('OOM', 1, true) then
      return refusal
    end
  end
  if is_free then
    return with_refusal({answer, digits(now), 'ahead', '', '-1'})
  end
  local state, text = public(value)
  return with_refusal({answer, digits(now), state, text, digits(redis.call('PTTL', LOCK))})
end
