-- KEYS[1] the lock   ARGV[1] the owner   ARGV[2] ttl in ms
-- Returns OK, or nil if another owner holds the lock.
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
