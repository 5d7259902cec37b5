-- Ends an owner token in the record of permits: frees its slots and raises the fence of all slots to its highest ballot. Returns
-- the slots, or nil, and whether the fence is high enough.
local function end_owner(owner, ballot)
  local own = free_slots(owner)
  local raised = math.min(ballot, math.max(fence, now) + BOUND)
  -- A ballot that does not exceed TIME - RETENTION is refused even without a fence.
  if raised > math.max(fence, now - RETENTION) then
    fence = raised
    return own, write_permits('fence', digits(fence))
  end
  return own, true
end
