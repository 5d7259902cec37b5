-- A queue is one string: "2 <soonest> <end>", and for each waiter, first come first, a line break and
-- "<owner token> <arrival> <alive> <channel> <claim ms> <reserve> <holder id>". All times are TIME in us: of its first request, and until
-- when it counts as alive. None counts as dead before soonest, all do from end on.
-- Both numbers, and where the waiters begin; nothing of a string that is no such queue.
local function head_of(queue)
  local first, last, from = queue:match('^2 (%d+) (%d+)()')
  local soonest, latest = tonumber(first), tonumber(last)
  if from and from <= 36 and soonest <= latest then
    return soonest, latest, from
  end
end

-- What is answered where a string at the queue's key is none of this version. It is not touched.
local function not_a_queue(key, text)
  local version = text:match('^(%d+)$') or text:match('^(%d+)[ \n]')
  if version and version ~= '2' and #version <= 9 then
    return {'version', digits(now), key, version, '2'}
  end
  return {'broken', digits(now), key, 'string'}
end
