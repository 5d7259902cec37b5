-- Publishes a message. Returns whether a subscriber received it: true if that is unknown, false if PUBLISH was refused. On a
-- Cluster the channel either belongs to the lock's slot and has the slot's tag in braces, or it ends with ~ and is broadcast;
-- the count of a broadcast says nothing. PUBLISH also counts clients that subscribe to patterns and are not the waiter: if its
-- count is not zero, the script counts the subscribers of the channel itself.
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
