-- Holds further tokens for an open call: those asked for or what remains, but not fewer than the least. A limit of -1
-- means no limit. A call that is not open, because Redis has lost it, is restored by the asking process first.
local id, month = ARGV[2], ARGV[3]
local wanted, least = tonumber(ARGV[4]), tonumber(ARGV[5])
local rpm, tokens, month_tokens = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])

if not is_known() then return {-1} end
local use = key_use(month, rpm)
local call = redis.call('HGET', open, id)
if not call then return {-1} end
local left = math.huge
if tokens >= 0 then left = tokens - use.tokens - use.reserved end
if month_tokens >= 0 then left = math.min(left, month_tokens - use.month_tokens - use.month_reserved) end
left = math.max(0, left)
if left < least then return told(0, use) end

local granted = math.min(wanted, left)
local held, of_month, at = string.match(call, '^(%d+) (%S+) (%d+)$')
redis.call('HSET', open, id, whole(held + granted) .. ' ' .. of_month .. ' ' .. at)
add('reserved', granted)
add('reserved:' .. of_month, granted)
keep()
local reply = told(1, use)
reply[#reply + 1] = granted
return reply
