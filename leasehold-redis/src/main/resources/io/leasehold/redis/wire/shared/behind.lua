-- Removes a waiter that may stand behind the front.
local function leave_behind(waiter)
  local left = try('ZREM', BEHIND, 'q' .. waiter, 'a' .. waiter)
  if left and left > 0 then
    try('HDEL', WANTED, waiter)
  end
end
