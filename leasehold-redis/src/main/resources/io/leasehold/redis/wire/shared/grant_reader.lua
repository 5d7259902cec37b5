-- Makes a reader of the caller, or extends it. Each step is harmless without the next: a higher fence, a marker that lasts longer
-- than the readers. Returns nil if that was refused, false if another program has written a key.
local function grant_reader(own_ends, token, refusable)
  local ends = math.max(now + tonumber(ARGV[2]) * 1000, own_ends)
  local raised = math.max(fence, last)
  if raised > fence then
    local ms = digits(math.ceil((math.max(raised, now) + RETENTION - now) / 1000))
    local written
    if not refusable then
      written = put(FENCE, digits(raised), ms, not fence_text)
    elseif fence_text then
      written = try('SET', FENCE, digits(raised), 'PX', ms)
    else
      written = try('SET', FENCE, digits(raised), 'PX', ms, 'NX')
    end
    if not written then
      return written
    end
  end
  if ends > readers_end then
    local marked = mark(ends, readers_end == 0 and not ours)
    if not marked then
      return marked
    end
  end
  local entry = digits(ends) .. ' ' .. digits(token) .. ' ' .. holder
  if not record(raised, math.max(ends, readers_end), refusable, owner, entry) then
    ours = readers_end == 0
    return nil
  end
  readers_end, fence, fence_text, ours = math.max(ends, readers_end), raised, digits(raised), false
  return true
end
