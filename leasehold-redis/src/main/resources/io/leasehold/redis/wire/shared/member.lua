-- Whether this node may grant.

-- The reply of a node that does not know the age of its memory, is a member of another set, or has not remembered for long enough; nil
-- if it may grant. marker: the value of BIRTH. The arguments are those of member_acquire.lua.
local function not_a_member(marker, configuration, estimate, quarantine, life)
  local born, of_life, of_set
  if marker then
    born, of_life, of_set = marker:match('^born|(%d+)|(%w+)|(.*)$')
  end
  -- A caller with another run id may be wrong, and its requests must not remove a marker of the present life: ask the server.
  if not born or (of_life ~= life and life ~= 'durable' and of_life ~= run_id()) then
    local me = run_id()
    local nonce, of
    if marker then
      nonce, of = marker:match('^unborn|([^|]+)|(%w+)$')
    end
    if not nonce or of ~= me then
      nonce = me .. '-' .. digits(now)
      redis.call('SET', BIRTH, 'unborn|' .. nonce .. '|' .. me)
    end
    return {'unborn', digits(now), nonce}
  end
  if of_set ~= configuration then
    return {'other', digits(now), of_set}
  end
  local young = tonumber(quarantine) - (tonumber(estimate) - tonumber(born))
  if young > 0 then
    return {'young', digits(now), digits(young)}
  end
  return nil
end
