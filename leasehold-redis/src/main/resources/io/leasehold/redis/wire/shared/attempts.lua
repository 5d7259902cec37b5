-- A key of another type, which another program wrote, counts as absent. The first other error of these commands (Redis refuses
-- writes, a right is missing) is kept with its command, since a script must not hide it.
local refusal
-- The first error of a message to a waiter. No write depends on such a message.
local untold

local function at_command(err, command)
  return err .. " (at the '" .. command:lower() .. "' command)"
end

local function try(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) ~= 'table' or not answer.err then
    return answer
  end
  if not refusal and not answer.err:find('WRONGTYPE', 1, true) then
    refusal = {err = at_command(answer.err, command)}
  end
  return nil
end

-- Adds the refused command, if any, to a reply: the client then warns of the missing right.
local function with_refusal(reply)
  local met = refusal and refusal.err or untold
  if met then
    reply[#reply + 1] = 'besides'
    reply[#reply + 1] = met
  end
  return reply
end
