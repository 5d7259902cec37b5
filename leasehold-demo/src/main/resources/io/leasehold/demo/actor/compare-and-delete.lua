-- Deletes the key if it has this value: what a release has to be.
--
-- KEYS  1  the lock
-- ARGV  1  the value by which we took it
-- Returns 1 if it was ours, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
