-- Wakes the first client that can be reached, and drops those before it. If it wants to read, the first 64 readers before the
-- first writer are woken. is_free: no reader holds the lock, so that a writer may be woken. own: the set of the caller, whose client wakes its own
-- attempts of that kind. Returns whether a client was woken.
local function wake_first(is_free, own, channel)
  drop_dead(WATCHERS)
  drop_dead(READ_WATCHERS)
  for _ = 1, 64 do
    local writers = try('ZRANGEBYSCORE', WATCHERS, '1', '+inf', 'WITHSCORES', 'LIMIT', 0, 1) or {}
    local before = writers[2] and '(' .. digits(tonumber(writers[2])) or '+inf'
    local woken, own_first = false, false
    for _, reader in ipairs(try('ZRANGEBYSCORE', READ_WATCHERS, '1', before, 'LIMIT', 0, 64) or {}) do
      if own == READ_WATCHERS and reader:sub(2) == channel then
        own_first = true
      elseif wake(READ_WATCHERS, reader:sub(2), READERS) then
        woken = true
      end
    end
    local writer = writers[1] and writers[1]:sub(2)
    if woken or own_first then
      return woken
    elseif not is_free or not writer or (own == WATCHERS and writer == channel) then
      return false
    elseif wake(WATCHERS, writer, LOCK) then
      return true
    end
  end
  return false
end
