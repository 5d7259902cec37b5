-- Deletes the key if it has this value, as a correct release does.
--
-- KEYS  1  the lock
-- ARGV  1  the value with which the lock was acquired
-- Returns 1 if the key had this value, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
