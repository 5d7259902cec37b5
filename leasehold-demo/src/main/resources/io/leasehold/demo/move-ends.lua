-- Moves the end of each key that has one by so much, as a jump of the server's clock does: Redis keeps ends in wall-clock
-- time. For demonstrations on a server of one's own: it looks at every key.
--
-- ARGV  1  how far the clock jumps forwards, in milliseconds
-- Returns how many keys were moved.
local moved = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    redis.call('PEXPIRE', key, left - tonumber(ARGV[1]))
    moved = moved + 1
  end
end
return moved
