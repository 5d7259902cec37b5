-- Whether a subscriber received it; where that cannot be told, yes; where PUBLISH was refused, no. On a Cluster the
-- channel is one of the lock's slot, and has its tag in braces; or it ends with ~, and is broadcast: the count of that says
-- nothing. PUBLISH also counts those that subscribe to patterns, who are not the waiter: so where it counts anybody, the
-- subscribers of the channel itself are counted.
local function tell(channel, message)
  local sharded, broadcast = channel:find('{', 1, true), channel:sub(-1) == '~'
  local command = sharded and 'SPUBLISH' or 'PUBLISH'
  local heard = redis.pcall(command, channel, message)
  local published = type(heard) == 'number'
  if not sharded and not broadcast and published and heard > 0 then
    command = 'PUBSUB|NUMSUB'
    local listening = redis.pcall('PUBSUB', 'NUMSUB', channel)
    heard = listening.err and listening or listening[2]
  end
  if type(heard) == 'table' then
    untold = untold or at_command(heard.err, command)
    return published
  end
  return heard ~= 0 or broadcast
end
