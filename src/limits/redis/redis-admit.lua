-- Admits a call when all limits of all its subjects do, and holds what it may spend. The last arguments are four limits
-- for each subject; -1 means no limit. A call that is held for no time counts only in the minute.
local id, month = ARGV[2], ARGV[3]
local input, output, needed, hold_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local uses, left, refused = {}, math.huge, false
for subject = 1, SUBJECTS do
  turn_to(subject)
  if not is_known() then return {-1} end
  local first = 4 + 4 * subject
  local rpm, requests = tonumber(ARGV[first]), tonumber(ARGV[first + 1])
  local use = key_use(month, rpm)
  use.rpm = rpm
  left = math.min(left, tokens_left(use, tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3])))
  refused = refused or (rpm >= 0 and use.calls >= rpm) or (requests >= 0 and use.requests >= requests)
  uses[subject] = use
end
if refused or needed > left then return told(0, 0, uses) end

-- Tokens are held even without a limit on tokens, because one may be set while the call runs.
local granted = math.min(output, left - input)
local held = input + granted
for subject, use in ipairs(uses) do
  turn_to(subject)
  local at = now
  if use.rpm >= 0 then
    -- Keeps the list in order, though the clock may have been set back a little.
    at = math.max(now, tonumber(redis.call('LINDEX', window, -1) or 0))
    redis.call('RPUSH', window, whole(at))
    use.calls, use.empties = use.calls + 1, until_passed(at)
  end
  if hold_ms > 0 then hold(id, held, month, at, hold_ms) end
  use.requests, use.reserved, use.month_reserved = use.requests + 1, use.reserved + held, use.month_reserved + held
  keep()
end
return told(1, granted, uses)
