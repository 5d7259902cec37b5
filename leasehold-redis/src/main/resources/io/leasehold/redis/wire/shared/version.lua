-- The front of a queue is one string: "2 <soonest> <end> <behind>", followed, for each waiter in the order of arrival, by a line
-- break and "<owner token> <arrival> <alive> <channel> <claim ms> <reserve> <holder id>"; the claim of a reader begins with an r.
-- All times are TIME in us: arrival is the time of the first request, and alive the time until which the waiter counts as alive.
-- No waiter in front counts as dead before soonest, and all do from end on. All waiters behind the front count as dead from behind on, which is 0 if none stands there.
-- The waiters behind the front are the fields of the hash WANTED: owner token -> the part of such a line after the arrival. Their
-- order is that of the sorted set BEHIND, which has two members for each: "q<owner token>" with its place in the order of arrival
-- (us, > 0), and "a<owner token>" with minus alive.
-- Returns the three numbers and the position where the waiters begin; nothing for a string that is no such queue.
local function head_of(queue)
  local first, last, until_us, from = queue:match('^2 (%d+) (%d+) (%d+)()')
  local soonest, latest, behind = tonumber(first), tonumber(last), tonumber(until_us)
  if from and from <= 53 and soonest <= latest and behind <= latest then
    return soonest, latest, behind, from
  end
end

-- The reply if the string at the queue's key is no queue of this version. The string is not changed.
local function not_a_queue(key, text)
  local version = text:match('^(%d+)$') or text:match('^(%d+)[ \n]')
  if version and version ~= '2' and #version <= 9 then
    return {'version', digits(now), key, version, '2'}
  end
  return {'broken', digits(now), key, 'string'}
end
