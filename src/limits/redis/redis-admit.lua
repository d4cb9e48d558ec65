-- Admits a call when all limits do, and holds what it may spend. A limit of -1 means no limit. A call that is held for
-- no time counts only in the key's minute.
local id, month = ARGV[2], ARGV[3]
local input, output, needed, hold_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local rpm, requests, tokens, month_tokens = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

if not is_known() then return {-1} end
local use = key_use(month, rpm)
local left = math.huge
if tokens >= 0 then left = tokens - use.tokens - use.reserved end
if month_tokens >= 0 then left = math.min(left, month_tokens - use.month_tokens - use.month_reserved) end

local refused = (rpm >= 0 and use.calls >= rpm) or (requests >= 0 and use.requests >= requests) or needed > left
if refused then return told(0, use) end

local at = now
if rpm >= 0 then
  -- Keeps the list in order, though the clock may have been set back a little.
  at = math.max(now, tonumber(redis.call('LINDEX', window, -1) or 0))
  redis.call('RPUSH', window, whole(at))
  use.calls, use.empties = use.calls + 1, until_passed(at)
end
-- Tokens are held even without a limit on tokens, because one may be set while the call runs.
local granted = math.min(output, left - input)
local held = input + granted
if hold_ms > 0 then hold(id, held, month, at, hold_ms) end
use.requests, use.reserved, use.month_reserved = use.requests + 1, use.reserved + held, use.month_reserved + held
keep()
local reply = told(1, use)
reply[#reply + 1] = granted
return reply
