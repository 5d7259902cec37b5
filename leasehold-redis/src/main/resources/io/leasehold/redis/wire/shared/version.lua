-- The front of a queue is one string: "2 <soonest> <end> <behind>", and for each waiter, first come first, a line break and
-- "<owner token> <arrival> <alive> <channel> <claim ms> <reserve> <holder id>". All times are TIME in us: of its first request, and until
-- when it counts as alive. In front none counts as dead before soonest; all do from end on, those behind the front from behind on, which
-- is 0 where nobody stands there. They are the fields of the hash WANTED: owner token -> what follows the arrival in such a line; and their order
-- is that of the sorted set BEHIND, with two members for each: "q<owner token>", its place in order of arrival (us, > 0), and
-- "a<owner token>", minus alive.
-- The three numbers, and where the waiters begin; nothing of a string that is no such queue.
local function head_of(queue)
  local first, last, until_us, from = queue:match('^2 (%d+) (%d+) (%d+)()')
  local soonest, latest, behind = tonumber(first), tonumber(last), tonumber(until_us)
  if from and from <= 53 and soonest <= latest and behind <= latest then
    return soonest, latest, behind, from
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
