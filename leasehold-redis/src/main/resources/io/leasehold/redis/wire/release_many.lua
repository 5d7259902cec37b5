-- release_many.lua, Leasehold wire format 2
-- The common case of release.lua for several callers, each of which succeeds or fails on its own: deletes those locks that are
-- held as the caller says and have no waiters. Nothing is written for the others, for which the client runs release.lua.
--
-- KEYS (on a Cluster all in one slot), two for each lock i
--   2i-1  lock
--   2i    queued
-- ARGV, one for each lock i
--   i  "<owner token>:<ballot>:", with the highest fencing token proposed or granted under that owner token
-- Replies
--   {"released", i1, i2 ...}  for each lock 1: this owner token held it and no longer does, or 0: release.lua decides
-- Errors
--   Those of Redis; nothing was deleted then. A refusal for a single lock is not an error: its reply is 0

local values = redis.call('MGET', unpack(KEYS))
local answers = {'released'}
for i, ours in ipairs(ARGV) do
  local value = values[2 * i - 1]
  local answer = 0
  -- The grant has raised the fence to the token in the value.
  if value and not values[2 * i] and value:sub(1, #ours) == ours and redis.pcall('DEL', KEYS[2 * i - 1]) == 1 then
    answer = 1
  end
  answers[#answers + 1] = answer
end
return answers
