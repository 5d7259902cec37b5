local function broken(key)
  return {'broken', digits(now), key, redis.call('TYPE', key).ok}
end

-- Makes a reader of this writer in one step. A caller that is a reader already is extended. In every other case, also if the lock is
-- free, nothing is changed. Returns nil, or the reply if the caller is no reader.
local function swap(writer)
  local fence = number_in(fence_text)
  if not fence or (not fence_text and redis.call('EXISTS', FENCE) == 1) then
    return broken(FENCE)
  end
  -- A reader that may not do this could not be ended. The key is absent or no hash.
  try('HGETALL', FENCE)
  local found = try('HMGET', READERS, 'all', owner)
  if not found or refusal then
    return refusal or broken(READERS)
  end
  know(found[1], fence)
  local floor = math.max(fence, now - RETENTION)
  if candidate <= floor then
    return {'stale', digits(now), digits(floor)}
  end
  local limit = math.max(fence, now) + BOUND
  if last > limit then
    return {'refused', digits(now), digits(limit)}
  end
  local ends
  if readers_end > 0 then
    ends = live(found[2])
  end
  local left = redis.call('PTTL', LOCK)
  local is_writers = value and value:sub(1, 41) == writer .. ':'
  if not ends and not is_writers then
    if left == -2 then
      return {'not-ours', digits(now), 'free', '', '-1'}
    end
    local state, text = public(value)
    return {'not-ours', digits(now), state, text, digits(left)}
  end

  -- Each step is harmless without the next, and the lock is the writer's until the last one. The floor of readers is the fence so far,
  -- since the writer has raised it.
  local lasts = math.max(now + tonumber(ARGV[2]) * 1000, ends or now + (left + 1) * 1000)
  local ms = digits(math.ceil((math.max(last, now) + RETENTION - now) / 1000))
  if not put(FENCE, digits(last), ms, not fence_text) then
    return refusal or broken(FENCE)
  end
  fence_text = digits(last)
  local entry = digits(lasts) .. ' ' .. digits(candidate) .. ' ' .. holder
  if lasts > readers_end and ends and not mark(lasts, false) then
    return refusal
  end
  if not record(last, math.max(lasts, readers_end), false, owner, entry) then
    return refusal
  end
  if is_writers then
    if not mark(lasts, false) then
      return refusal
    end
    readers_end = lasts
  end
  return nil
end
