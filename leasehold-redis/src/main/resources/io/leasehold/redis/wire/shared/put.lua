-- SET that works even if memory is full: Redis refuses memory to a script only until its first write, so a write that needs no
-- memory precedes. is_new: MGET has not found the key; if it has another type, it is not changed. option: PX, or PXAT for a
-- point in time. Returns whether the key was set: false for a key of another type, nil for a refusal.
local function put(key, text, ms, is_new, option)
  local answer
  option = option or 'PX'
  for _ = 1, 2 do
    if is_new then
      answer = redis.pcall('SET', key, text, option, ms, 'NX')
    else
      answer = redis.pcall('SET', key, text, option, ms)
    end
    if not answer or not answer.err or not answer.err:find('OOM', 1, true) then
      break
    end
    if is_new and redis.call('EXISTS', key) == 1 then
      return false
    end
    -- PEXPIREAT would be a right of its own.
    redis.call('PEXPIRE', key, option == 'PX' and ms or digits(math.max(1, ms - math.floor(now / 1000))))
  end
  if answer and answer.err then
    refusal = refusal or {err = at_command(answer.err, 'SET')}
    return nil
  end
  return answer and true
end
