-- member_birth.lua, Leasehold wire format 2
-- Tells a member of a set of nodes the age of its memory, or declares the member new.
--
-- KEYS
--   1  marker
-- ARGV (numbers are decimal strings)
--   1  nonce with which the node named its life, or "*": an operator declares that the node has lost nothing
--   2  born in us: the clock of the set, read after the node had named its life; 0 with "*"
--   3  configuration of the set
-- Replies (now is TIME in us as a decimal string)
--   {"born", now}     the marker has the birth
--   {"refused", now}  the life of the node has changed meanwhile, or it has a birth already
-- Errors
--   Those of Redis; nothing is written then

local MARKER = KEYS[1]

-- shared: numbers

-- shared: life

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local me = run_id()
local marker = redis.call('MGET', MARKER)[1]
if ARGV[1] ~= '*' and marker ~= 'unborn|' .. ARGV[1] .. '|' .. me then
  return {'refused', digits(now)}
end
redis.call('SET', MARKER, 'born|' .. ARGV[2] .. '|' .. me .. '|' .. ARGV[3])
return {'born', digits(now)}
