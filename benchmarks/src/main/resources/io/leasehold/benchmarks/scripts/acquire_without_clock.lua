-- Not Leasehold's script: acquire_free.lua without a look at the clock if a fence exists. See docs/performance.md.
local call = redis.call
local found = call('MGET', KEYS[1], KEYS[2], KEYS[3])
if found[1] or found[3] then
  return 0
end
local fence, candidate = found[2], tonumber(ARGV[3])
if fence then
  fence = #fence <= 16 and fence:find('^%d+$') and tonumber(fence)
  if not fence or candidate <= fence or candidate > fence + 7500000 then
    return 0
  end
end
if call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  call('SET', KEYS[2], ARGV[3], 'PX', '67500')
  return 1
end
return 0
