-- A key of another type, that another program wrote, is as good as none. The first other error of these commands (writes are
-- refused, a right is missing) is kept, with the command that met it: a script must not pass it over in silence.
local refusal
local function try(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) ~= 'table' or not answer.err then
    return answer
  end
  if not refusal and not answer.err:find('WRONGTYPE', 1, true) then
    refusal = {err = answer.err .. " (at the '" .. command:lower() .. "' command)"}
  end
  return nil
end
