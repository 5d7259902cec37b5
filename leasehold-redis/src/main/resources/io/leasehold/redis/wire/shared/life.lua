-- The life of this server's memory: it changes at each start of the process.
local function run_id()
  return redis.call('INFO', 'server'):match('run_id:(%w+)')
end
