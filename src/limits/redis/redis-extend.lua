-- Holds further tokens for an open call: those asked for or what remains, but not fewer than the least. The last
-- arguments are three limits for each subject; -1 means no limit. A call that is not open, because Redis has lost it, is
-- restored by the asking process first.
local id, month = ARGV[2], ARGV[3]
local wanted, least = tonumber(ARGV[4]), tonumber(ARGV[5])

local uses, calls, left = {}, {}, math.huge
for subject = 1, SUBJECTS do
  turn_to(subject)
  if not is_known() then return {-1} end
  local first = 3 + 3 * subject
  local use = key_use(month, tonumber(ARGV[first]))
  local call = redis.call('HGET', open, id)
  if not call then return {-1} end
  left = math.min(left, tokens_left(use, tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])))
  uses[subject], calls[subject] = use, call
end
left = math.max(0, left)
if left < least then return told(0, 0, uses) end

local granted = math.min(wanted, left)
for subject = 1, SUBJECTS do
  turn_to(subject)
  local held, of_month, at = string.match(calls[subject], '^(%d+) (%S+) (%d+)$')
  redis.call('HSET', open, id, whole(held + granted) .. ' ' .. of_month .. ' ' .. at)
  add('reserved', granted)
  add('reserved:' .. of_month, granted)
  keep()
end
return told(1, granted, uses)
