-- fenced.lua as it was before it knew readers: it keeps one number. Kept for tests of both versions on one value.
-- A value that refuses older holders: checks a fencing token, registers it, and reads or writes the value, in one step.
--
-- KEYS (both in one slot)
--   1  value
--   2  the largest fencing token seen, a decimal string; never expires here
-- ARGV
--   1  token, a decimal string below 2^53
--   2  what is to be done: "admit" nothing more, "read", "write", or "delete"
--   3  the new value, for "write"
-- Replies
--   {"admitted"}         and, for "read", the value if there is one
--   {"rejected", token}  a newer holder has been here, with this token; nothing was changed
-- Errors
--   Redis' own, and ERR if the second key holds no token: then no holder is let in. Value and token are as they were.

local VALUE, FENCE = KEYS[1], KEYS[2]
local token = tonumber(ARGV[1])
local seen = redis.call('GET', FENCE)
local newest = 0
if seen then
  -- Only digits: tonumber would take a sign, 'nan', 'inf' and hexadecimal numbers as well.
  newest = string.match(seen, '^%d+$') and tonumber(seen)
  if not newest or newest >= 9007199254740992 then
    return redis.error_reply('ERR ' .. FENCE .. ' holds no fencing token')
  end
end
if token < newest then
  return {'rejected', seen}
end
-- Before anything is written: the value may be of another type.
local value = ARGV[2] == 'read' and redis.call('GET', VALUE)
if token > newest then
  redis.call('SET', FENCE, ARGV[1])
end
local done
if ARGV[2] == 'write' then
  done = redis.pcall('SET', VALUE, ARGV[3])
elseif ARGV[2] == 'delete' then
  done = redis.pcall('DEL', VALUE)
end
if type(done) == 'table' and done.err then
  if token > newest then
    -- Nothing was done under this token: it goes back, by the one command that is known to be allowed.
    if seen then
      redis.call('SET', FENCE, seen)
    else
      redis.call('SET', FENCE, '0', 'PX', 1)
    end
  end
  return done
end
return value and {'admitted', value} or {'admitted'}
