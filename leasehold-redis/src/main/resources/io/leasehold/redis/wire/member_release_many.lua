-- member_release_many.lua, Leasehold wire format 2
-- The common case of member_release.lua for one or several callers, each of which succeeds or fails on its own: deletes
-- those locks that are held as the caller says and that no client watches. Nothing is written for the others, for which the
-- client runs member_release.lua.
--
-- KEYS (on a Cluster all in one slot), three for each lock i
--   3i-2  lock
--   3i-1  watchers
--   3i    read watchers
-- ARGV, one for each lock i
--   i  "<owner token>:<ballot>:", with the highest fencing token proposed or granted under that owner token
-- Replies
--   {"released", i1, i2 ...}  for each lock 1: this owner token held it and no longer does, or 0: member_release.lua decides
-- Errors
--   None: after a refusal the reply is 0

local try = redis.pcall
local reply = {'released'}
for i, ours in ipairs(ARGV) do
  local lock = KEYS[3 * i - 2]
  local value = try('MGET', lock)[1]
  local answer = 0
  -- The grant has raised the fence to the token in the value.
  if value and value:sub(1, #ours) == ours and try('EXISTS', KEYS[3 * i - 1], KEYS[3 * i]) == 0 and try('DEL', lock) == 1 then
    answer = 1
  end
  reply[i + 1] = answer
end
return reply
