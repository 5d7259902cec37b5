-- Whether anybody heard it; where that cannot be told, yes. On a Cluster the channel is one of the lock's slot, and has its
-- tag in braces; or it ends with ~, and is broadcast: the count of that says nothing.
local function tell(channel, message)
  local sharded = channel:find('{', 1, true)
  local heard = redis.pcall(sharded and 'SPUBLISH' or 'PUBLISH', channel, message)
  return heard ~= 0 or channel:sub(-1) == '~'
end
