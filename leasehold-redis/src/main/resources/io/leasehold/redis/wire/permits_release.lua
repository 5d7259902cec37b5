-- permits_release.lua, Leasehold wire format 2
-- Ends an owner token: removes its place in the queue, frees the slots that it holds, and raises the fence of all slots to its
-- highest ballot, so that no late copy of its requests can be granted any slot. Hands free slots to the first waiters. Release,
-- undo and withdrawal all run this script; repeating it is harmless.
--
-- KEYS (all in one slot of a Cluster)
--   1  permits, 2  queued, 3  behind, 4  wanted: as in permits_acquire.lua
-- ARGV (numbers are decimal strings)
--   1  owner token, 40 lower-case hexadecimal digits
--   2  ballot: the highest fencing token proposed or granted under it, 0 for none
--   3  run id of this server, as in acquire.lua
-- Replies
--   {"released"}, {"not-ours"}: as release.lua; may end with "besides", error
--   {"broken", now, key, type}: another program wrote the record
-- Errors
--   Those of Redis. The owner token may then not be ended: the client must repeat the release. Lack of memory does not fail it.

local RETENTION = 60000000 -- us: as in acquire.lua
local BOUND = 7500000 -- us: as in release.lua

local PERMITS, QUEUED, BEHIND, WANTED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, ballot, RUN_ID = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local queued = redis.call('MGET', QUEUED)[1]

-- The common case: no client waits, the owner token holds one permit, no other hold has ended, and the grant has raised the fence
-- to the ballot. It precedes all functions, since creating them takes the server as long again.
if not queued then
  local all = redis.pcall('HGETALL', PERMITS)
  local own, fence
  local is_plain = not all.err
  for i = 1, is_plain and #all or 0, 2 do
    local field, value = all[i], all[i + 1]
    if field == 'fence' then
      fence = #value <= 16 and value:find('^%d+$') and tonumber(value)
    elseif field ~= 'count' then
      local of, ends = value:match('^(%x+):%d+:(%d+):')
      is_plain = is_plain and tonumber(ends or 0) > now and not (of == owner and own)
        and (field == '0' or field:find('^[1-9]%d*$'))
      own = of == owner and field or own
    end
  end
  if is_plain and own and fence and ballot <= fence then
    redis.call('HDEL', PERMITS, own)
    return {'released'}
  end
end

-- shared: numbers

-- shared: attempts

-- shared: version

-- shared: tell

-- shared: put

-- shared: queue

-- shared: permits

-- shared: end_owner

-- shared: handed

-- shared: serve_permits

-- shared: behind

if not read_permits() then
  return not_permits()
end
local own, is_fenced = end_owner(owner, ballot)
if not own and not is_fenced then
  return refusal
end
if read_queue() then
  forget(owner)
  if not own and behind > 0 then
    leave_behind(owner)
  end
  serve_permits('')
  write_queue()
end
clean_permits()
if refusal and not own then
  return refusal
end
return with_refusal({own and 'released' or 'not-ours'})
