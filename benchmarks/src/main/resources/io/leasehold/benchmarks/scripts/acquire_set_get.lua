-- Not Leasehold's script: writes first and undoes a wrong write; needs Redis 7.0, and ignores the queue.
local call = redis.call
if not call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  return 0
end
local fence = call('SET', KEYS[2], ARGV[3], 'PX', '67500', 'GET')
if not fence or #fence == 16 and ARGV[3] > fence then
  return 1
end
call('SET', KEYS[2], fence, 'PX', '67500')
call('DEL', KEYS[1])
return 0
