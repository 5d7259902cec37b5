-- A key of another type, that another program wrote, is as good as none. The first other error of these commands (writes are
-- refused, a right is missing) is kept, with the command that met it: a script must not pass it over in silence.
local refusal
-- The first error with which telling a waiter was refused: nothing that is written depends on it.
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

-- An answer, and beside it what was refused on the way: a client warns of a right that is missing.
local function with_refusal(reply)
  local met = refusal and refusal.err or untold
  if met then
    reply[#reply + 1] = 'besides'
    reply[#reply + 1] = met
  end
  return reply
end
