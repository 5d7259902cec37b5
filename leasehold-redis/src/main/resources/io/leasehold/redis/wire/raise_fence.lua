-- raise_fence.lua, Leasehold wire format 2
-- Raises the fence to a ballot, so that neither this nor any lower ballot can be granted, and does nothing else. It is for a
-- slot of a Cluster that moves to another master: its keys are at two servers, and no script may name keys of both.
--
-- KEYS
--   1  fence
-- ARGV (numbers are decimal strings)
--   1  ballot: the highest fencing token proposed or granted under an owner token, 0 for none
--   2  retention in us
--   3  bound in us: the fence is raised to at most max(fence, TIME) + bound
-- Replies
--   {"not-ours"}      the fence is at least the ballot or the bound, or another program wrote the key and it was not changed
-- Errors
--   Those of Redis; the fence is then unchanged

local FENCE = KEYS[1]
local ballot, retention = tonumber(ARGV[1]), tonumber(ARGV[2])

-- shared: numbers

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local text = redis.call('MGET', FENCE)[1]
local fence = number_in(text)
if fence and (text or redis.call('EXISTS', FENCE) == 0) then
  local raised = math.min(ballot, math.max(fence, now) + tonumber(ARGV[3]))
  if raised > math.max(fence, now - retention) then
    local ms = digits(math.ceil((math.max(raised, now) + retention - now) / 1000))
    redis.call('SET', FENCE, digits(raised), 'PX', ms)
  end
end
return {'not-ours'}
