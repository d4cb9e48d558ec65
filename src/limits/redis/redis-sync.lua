-- Raises the counters to the sums of the database, which lag behind and never lead, so the larger value counts.
-- Arguments: requests and tokens over the key's life, then three lists, each preceded by its length. The lists are: months
-- with their tokens, ended calls with their tokens, calls in progress of the asking process.
local at = 1
local function next_argument()
  at = at + 1
  return ARGV[at]
end
local function each(visit)
  for _ = 1, tonumber(next_argument()) do visit() end
end
local function raise(field, sum)
  if tonumber(sum) > count(field) then redis.call('HSET', counts, field, sum) end
end

local requests, tokens = next_argument(), next_argument()
if not is_known() then redis.call('HSET', counts, 'generation', whole(now)) end
release_expired()

local months = {}
each(function()
  local month = next_argument()
  months[month] = next_argument()
end)
each(function()
  local id, used = next_argument(), next_argument()
  local month = release(id)
  if month then book(tonumber(used), month) end
end)
hold_again(at + 1)
raise('requests', requests)
raise('tokens', tokens)
for month, sum in pairs(months) do raise('tokens:' .. month, sum) end

-- The held tokens are summed up again, so that an error in them, whatever its cause, does not last.
local held = {reserved = 0}
for _, call in ipairs(redis.call('HVALS', open)) do
  local number, month = string.match(call, '^(%d+) (%S+)')
  held.reserved = held.reserved + number
  held['reserved:' .. month] = (held['reserved:' .. month] or 0) + number
end
-- The tokens of months that are over stay: the clock that says so may be ahead, and the month's only count is here.
for _, field in ipairs(redis.call('HKEYS', counts)) do
  if string.match(field, '^reserved:') then redis.call('HDEL', counts, field) end
end
for field, sum in pairs(held) do redis.call('HSET', counts, field, whole(sum)) end
keep()
return count('generation')
