-- What serves waiters: the form of their entries, and the message of a hand-over.

-- A waiter's entry; r before the claim: it is a reader.
local ENTRY = '^\n(%S+) (%d+) (%d+) (%S+) (r?)(%d+) (%d+) ([^\n]*)()'
local WINDOW = 3000000 -- us: how long a woken waiter may take before it loses its place
-- The run id of this server; false if reading it was refused.
local writer = RUN_ID ~= 'volatile' and RUN_ID or nil

-- The beginning of the message. A replica delivers the messages of its primary, so a waiter that counts from the time in a message
-- must know which server's time it is. Only clients whose channel ends with ! understand the run id. Of permits it also names the
-- slots, in a text that follows the run id: a client that does not expect it takes both for the name of another server, and asks.
local function handed_by(channel, slots)
  if channel:sub(-1) ~= '!' then
    return 'handed '
  end
  if writer == nil then
    local info = redis.pcall('INFO', 'server')
    writer = type(info) == 'string' and info:match('run_id:(%w+)') or false
  end
  return writer and 'handed@' .. writer .. (slots or '') .. ' ' or 'handed '
end

local function attempt_of(waiter)
  return redis.sha1hex(waiter):sub(1, 16)
end
