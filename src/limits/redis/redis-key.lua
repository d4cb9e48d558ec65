-- The counters of one API key, or of a user: of all keys and sessions. Each script begins with this text. Its first
-- argument is the number of milliseconds by which a test's clock is ahead. A script gets four Redis keys for each
-- subject of the call: the API key, or the user of a session, and after it the key's owner when the owner has limits.
--   counts  generation, requests, tokens, reserved, tokens:<month>, reserved:<month>. Without a generation the key is
--           unknown: it is created when the sums of the database are loaded, and lost when Redis loses its memory.
--   open    a call's id to "<tokens held> <month> <its time in the window>"
--   expiry  a call's id by the millisecond at which its reservation expires
--   window  the microseconds at which the calls of the last minute were admitted, in order
local counts, open, expiry, window
local SUBJECTS = #KEYS / 4
local WINDOW = 60000000
-- Longer than the longest call; after that the counters are rebuilt from the database.
local IDLE_MS = 172800000
local RELEASED_AT_ONCE = 1000

-- Makes all functions below work on the counters of one subject.
local function turn_to(subject)
  local first = 4 * subject - 3
  counts, open, expiry, window = KEYS[first], KEYS[first + 1], KEYS[first + 2], KEYS[first + 3]
end
turn_to(1)

local clock = redis.call('TIME')
local now = (clock[1] + 0) * 1000000 + clock[2] + ARGV[1] * 1000
local now_ms = math.floor(now / 1000)

-- Formats a number as Redis accepts it: without an exponent.
local function whole(number)
  return string.format('%.0f', number)
end

local function count(field)
  return tonumber(redis.call('HGET', counts, field) or 0)
end

local function add(field, number)
  redis.call('HINCRBY', counts, field, whole(number))
end

local function is_known()
  return redis.call('HEXISTS', counts, 'generation') == 1
end

local function hold(id, tokens, month, at, for_ms)
  redis.call('HSET', open, id, whole(tokens) .. ' ' .. month .. ' ' .. whole(at))
  redis.call('ZADD', expiry, whole(now_ms + for_ms), id)
  add('reserved', tokens)
  add('reserved:' .. month, tokens)
end

-- Holds what calls in progress hold, unless they do already. The list of calls begins with its length, at this argument.
local function hold_again(first)
  for index = first + 1, first + 4 * tonumber(ARGV[first]), 4 do
    local id, held, month, for_ms = ARGV[index], ARGV[index + 1], ARGV[index + 2], ARGV[index + 3]
    if redis.call('HEXISTS', open, id) == 0 then hold(id, tonumber(held), month, now, tonumber(for_ms)) end
  end
end

-- Releases what a call holds; returns its month and its time in the window, or nothing when it holds nothing.
local function release(id)
  local call = redis.call('HGET', open, id)
  redis.call('ZREM', expiry, id)
  if not call then return nil end
  redis.call('HDEL', open, id)
  local tokens, month, at = string.match(call, '^(%d+) (%S+) (%d+)$')
  if is_known() then
    add('reserved', -tokens)
    add('reserved:' .. month, -tokens)
  end
  return month, at
end

local function book(tokens, month)
  if not is_known() then return end
  add('requests', 1)
  add('tokens', tokens)
  add('tokens:' .. month, tokens)
end

local function release_expired()
  local ids = redis.call('ZRANGEBYSCORE', expiry, '-inf', whole(now_ms), 'LIMIT', 0, RELEASED_AT_ONCE)
  for _, id in ipairs(ids) do release(id) end
end

-- Drops entries older than the window; all of them when the clock was set back.
local function trim_window()
  local last = tonumber(redis.call('LINDEX', window, -1) or 0)
  if last <= now - WINDOW or last > now + WINDOW then
    redis.call('DEL', window)
    return
  end
  repeat
    local times = redis.call('LRANGE', window, 0, 99)
    local passed = 0
    for _, at in ipairs(times) do
      if tonumber(at) > now - WINDOW then break end
      passed = passed + 1
    end
    if passed > 0 then redis.call('LTRIM', window, passed, -1) end
  until passed < 100
end

local function until_passed(at)
  return math.max(0, math.ceil(((tonumber(at or 0)) + WINDOW - now) / 1000))
end

-- Returns the subject's usage in the shape of `KeyUse`.
local function key_use(month, rpm)
  release_expired()
  local calls, opens, empties = 0, 0, 0
  if rpm >= 0 then
    trim_window()
    calls = redis.call('LLEN', window)
    if calls > 0 then empties = until_passed(redis.call('LINDEX', window, -1)) end
    if calls >= rpm and rpm > 0 then opens = until_passed(redis.call('LINDEX', window, whole(calls - rpm))) end
  end
  return {
    generation = count('generation'),
    calls = calls,
    opens = opens,
    empties = empties,
    requests = count('requests') + redis.call('HLEN', open),
    tokens = count('tokens'),
    reserved = count('reserved'),
    month_tokens = count('tokens:' .. month),
    month_reserved = count('reserved:' .. month),
  }
end

-- Returns the verdict, the granted tokens, and nine figures for each subject.
local function told(verdict, granted, uses)
  local reply = {verdict, granted}
  for _, use in ipairs(uses) do
    local figures = {
      use.generation, use.calls, use.opens, use.empties, use.requests, use.tokens, use.reserved,
      use.month_tokens, use.month_reserved,
    }
    for _, figure in ipairs(figures) do reply[#reply + 1] = figure end
  end
  return reply
end

-- Returns the tokens that no call has used or holds. A limit of -1 means no limit.
local function tokens_left(use, tokens, month_tokens)
  local left = math.huge
  if tokens >= 0 then left = tokens - use.tokens - use.reserved end
  if month_tokens >= 0 then left = math.min(left, month_tokens - use.month_tokens - use.month_reserved) end
  return left
end

local function keep()
  for _, key in ipairs({counts, open, expiry, window}) do redis.call('PEXPIRE', key, IDLE_MS) end
end
