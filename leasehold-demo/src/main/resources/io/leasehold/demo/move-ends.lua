-- Moves the expiry of each key that has one by this much, like a jump of the server's clock: Redis keeps expiries in
-- wall-clock time. Only for a server of the demonstration itself: the script reads every key.
--
-- ARGV  1  how far the clock jumps forwards, in milliseconds
-- Returns the number of moved keys.
local moved = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    redis.call('PEXPIRE', key, left - tonumber(ARGV[1]))
    moved = moved + 1
  end
end
return moved
