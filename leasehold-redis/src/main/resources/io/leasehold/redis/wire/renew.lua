-- renew.lua, Leasehold wire format 2
-- Keeps locks that are still held by their owner tokens for one ttl more; touches nothing else, and never shortens a ttl.
--
-- KEYS
--   i    lock; at most 1000
-- ARGV
--   1        ttl in ms, a decimal string; or 1 to n: one for each of n locks
--   then i   "<owner token>:", with 40 lower-case hexadecimal digits
-- Replies
--   {kept, i, answer, i, answer, ...}: the number of locks that are kept, then each other lock as its number in KEYS with
--   0 if it is not held by this owner token, or with the text of an error
-- Errors
--   none but those that concern the whole script: one foreign key does not stop the others

local call, pcall = redis.call, redis.pcall
local ttls = #ARGV - #KEYS
local values = pcall('MGET', unpack(KEYS))
local reply, kept = {0}, 0

for i, lock in ipairs(KEYS) do
  local answer, ttl = 0, ARGV[ttls == 1 and 1 or i]
  local value = values[i]
  if values.err then
    -- A right to one of the keys is missing, or to MGET.
    value = pcall('GET', lock)
  end
  if type(value) == 'string' and value:find(ARGV[ttls + i], 1, true) == 1 then
    answer = 1
    if call('PTTL', lock) < tonumber(ttl) then
      answer = pcall('PEXPIRE', lock, ttl)
    end
    if type(answer) == 'table' then
      answer = answer.err .. " (at the 'pexpire' command)"
    end
  elseif type(value) == 'table' and not value.err:find('WRONGTYPE', 1, true) then
    answer = value.err .. " (at the 'get' command)"
  end
  if answer == 1 then
    kept = kept + 1
  else
    reply[#reply + 1] = i
    reply[#reply + 1] = answer
  end
end
reply[1] = kept
return reply
