-- member_acquire_many.lua, Leasehold wire format 2
-- The common case of member_acquire.lua for one or several callers, each of which succeeds or fails on its own: acquires
-- those locks that are free and whose ballot is acceptable, if the node belongs to this set and has kept its data for long
-- enough, and no reader waits. Nothing is written for the others.
--
-- KEYS (on a Cluster all in one slot): the marker, then three for each lock i
--   1     marker
--   3i-1  lock
--   3i    fence
--   3i+1  readers wait: as in member_acquire.lua
-- ARGV (numbers are decimal strings): three for all, then four for each lock i; they reserve one token each
--   1     configuration of the set as the callers know it
--   2     bound in us
--   3     life: the run id of the server, as the server reported it on the connection of this request; "volatile": INFO
--         reports it; "durable": only an absent marker means that the node has lost its data. If the marker has another run
--         id, member_acquire.lua decides
--   4i    value: "<owner token>:<candidate>:<holder id>"
--   4i+1  ttl in ms
--   4i+2  candidate: the fencing token proposed
--   4i+3  the latest birth in us with which the node grants: the clock of the set - quarantine
-- Replies
--   {s, us, a1, a2 ...}  the two parts of TIME; then for each lock
--     1             it is the caller's and fence = candidate
--     {text, pttl}  another owner token has it: the value from its token on, the ttl in ms. No client will be woken
--     0             member_acquire.lua decides
-- Errors
--   Those of Redis for TIME, MGET or INFO; nothing was written then. A refusal for a single lock is not an error: its reply is 0

local try = redis.pcall
local reply = redis.call('TIME')
local now = reply[1] * 1000000 + reply[2]
-- MGET returns nothing for a key of another type: a key that it does not find is only written with NX.
local values = redis.call('MGET', unpack(KEYS))

local marker, born, life, rest = values[1]
if marker then
  born, life, rest = marker:match('^born|(%d+)|(%w+)()')
end
if born then
  local lives = life == ARGV[3] or ARGV[3] == 'durable'
    or ARGV[3] == 'volatile' and redis.call('INFO', 'server'):find('run_id:' .. life .. '\r', 1, true)
  born = lives and marker:sub(rest + 1) == ARGV[1] and tonumber(born)
end

for i = 2, #KEYS, 3 do
  local at = (4 * i + 4) / 3
  local value, fence_text = values[i], values[i + 1]
  local answer = 0
  if born and born <= tonumber(ARGV[at + 3]) then
    local fence = 0
    if fence_text then
      fence = #fence_text <= 16 and fence_text:find('^%d+$') and tonumber(fence_text)
    end
    local candidate = tonumber(ARGV[at + 2])
    -- 60000000 us: the retention, as in acquire.lua.
    if fence and candidate > fence and candidate > now - 60000000 and candidate <= (fence > now and fence or now) + ARGV[2] then
      local taken = not value and values[i + 2] ~= '1' and try('SET', KEYS[i], ARGV[at], 'PX', ARGV[at + 1], 'NX')
      if taken and not taken.err then
        local ms = candidate > now and math.ceil((candidate + 60000000 - now) / 1000) or '60000'
        local raised
        if fence_text then
          raised = try('SET', KEYS[i + 1], ARGV[at + 2], 'PX', ms)
        else
          raised = try('SET', KEYS[i + 1], ARGV[at + 2], 'PX', ms, 'NX')
        end
        if raised and not raised.err then
          answer = 1
        else
          try('DEL', KEYS[i])
        end
      elseif value and value:sub(1, 41) ~= ARGV[at]:sub(1, 41)
        and value:sub(1, 40):find('^[0-9a-f]+$') and value:sub(41):find('^:%d*:') then
        local ttl = try('PTTL', KEYS[i])
        if type(ttl) == 'number' then
          answer = {value:sub(42, 600), ttl}
        end
      end
    end
  end
  reply[#reply + 1] = answer
end
return reply
