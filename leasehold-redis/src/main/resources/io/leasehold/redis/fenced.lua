-- fenced.lua
-- Guards a value against older holders: checks a fencing token, registers it, and reads or writes the value, in one step.
--
-- A token of a writer is admitted if no larger token was seen; a token of a reader, if no larger token of a writer was seen.
--
-- KEYS (all in one slot)
--   1  value
--   2  the largest fencing token seen, a decimal string; the script sets no expiry. A leading zero says that a reader
--      brought it; a version of this script that knows no readers drops the zero when it raises the number
--   3  for a reader only: the largest token of a writer, a decimal string. It counts while the second key has the zero
-- ARGV
--   1  token, a decimal string below 2^53
--   2  the operation: "admit" for none, "read", "write", or "delete"
--   3  the new value, for "write"
--   4  the kind of the lease: "read"; absent or anything else for an exclusive one. A reader only admits and reads
-- Replies
--   {"admitted"}         and, for "read", the value if there is one
--   {"rejected", token}  a newer holder has used the value, with this token; nothing was changed
-- Errors
--   Those of Redis; ERR if the second key is not a token: no holder is admitted then; ERR if a reader wants to write or
--   delete. The value and the tokens are then unchanged.

local VALUE, FENCE, WRITER = KEYS[1], KEYS[2], KEYS[3]
local token = tonumber(ARGV[1])
local reader = ARGV[4] == 'read'

-- Readers do not exclude each other: of two that write, one would overwrite the other.
if reader and ARGV[2] ~= 'admit' and ARGV[2] ~= 'read' then
  return redis.error_reply('ERR a reader only admits and reads')
end

-- Only digits: tonumber would take a sign, 'nan', 'inf' and hexadecimal numbers as well.
local function token_in(text)
  local number = text and string.match(text, '^%d+$') and tonumber(text)
  return number and number < 9007199254740992 and number
end

local seen = redis.call('GET', FENCE)
local newest = 0
if seen then
  newest = token_in(seen)
  if not newest then
    return redis.error_reply('ERR ' .. FENCE .. ' holds no fencing token')
  end
end
local shared = seen and #seen > 1 and string.sub(seen, 1, 1) == '0'
local floor = newest
if reader and shared then
  -- If the number is lost, the newest token counts as a writer's.
  floor = math.min(token_in(redis.call('GET', WRITER)) or newest, newest)
end
if token < floor then
  return {'rejected', string.format('%.0f', floor)}
end
-- Read before any write: the value may be of another type.
local value = ARGV[2] == 'read' and redis.call('GET', VALUE)
if reader then
  if token > newest then
    redis.call('SET', WRITER, string.format('%.0f', floor))
    redis.call('SET', FENCE, '0' .. string.format('%.0f', token))
  end
  return value and {'admitted', value} or {'admitted'}
end
local registers = token > newest or shared
if registers then
  redis.call('SET', FENCE, string.format('%.0f', token))
end
local done
if ARGV[2] == 'write' then
  done = redis.pcall('SET', VALUE, ARGV[3])
elseif ARGV[2] == 'delete' then
  done = redis.pcall('DEL', VALUE)
end
if type(done) == 'table' and done.err then
  if registers then
    -- Nothing was done under this token: restore the old one, with SET, which is the one command that is known to be permitted.
    if seen then
      redis.call('SET', FENCE, seen)
    else
      redis.call('SET', FENCE, '0', 'PX', 1)
    end
  end
  return done
end
return value and {'admitted', value} or {'admitted'}
