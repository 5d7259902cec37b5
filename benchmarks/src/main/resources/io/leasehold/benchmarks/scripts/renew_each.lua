-- renew_each.lua: not used by Leasehold any more. A renewal with three commands for each lock, for comparison.
--
-- KEYS
--   i  lock
-- ARGV (numbers are decimal strings)
--   2i-1  owner token, 40 lower-case hexadecimal digits
--   2i    ttl in ms
-- Replies
--   a list with one answer for each key: 1 kept, 0 not held by this owner token, or the text of an error
-- Errors
--   none but those that concern the whole script: one foreign key does not stop the others

local answers = {}
for i, lock in ipairs(KEYS) do
  local owner, ttl = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local value = redis.pcall('GET', lock)
  answers[i] = 0
  if type(value) == 'string' and value:sub(1, 41) == owner .. ':' then
    answers[i] = 1
    if redis.call('PTTL', lock) < ttl then
      local set = redis.pcall('PEXPIRE', lock, string.format('%.0f', ttl))
      if type(set) == 'table' then
        answers[i] = set.err .. " (at the 'pexpire' command)"
      end
    end
  elseif type(value) == 'table' and not value.err:find('WRONGTYPE', 1, true) then
    answers[i] = value.err .. " (at the 'get' command)"
  end
end
return answers
