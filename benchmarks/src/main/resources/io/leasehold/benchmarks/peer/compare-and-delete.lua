-- KEYS[1] the lock   ARGV[1] the owner
-- Returns 1 if the lock was the owner's and is free now, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
