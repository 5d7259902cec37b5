-- KEYS: the lock's key. ARGV: its value. Deletes it if it is still this one's.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
