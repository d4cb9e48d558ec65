-- Ends open calls, and returns for each the settled tokens of its month, of the first subject: -1 when it was no longer
-- open there. Calls are pairs of id and tokens used; -1 tokens takes back a call that was never made.
local settled = {}
for index = 2, #ARGV, 2 do
  local id, tokens = ARGV[index], tonumber(ARGV[index + 1])
  for subject = SUBJECTS, 1, -1 do
    turn_to(subject)
    local month, at = release(id)
    if month and tokens < 0 then redis.call('LREM', window, -1, at) end
    if month and tokens >= 0 then book(tokens, month) end
    if subject == 1 then settled[#settled + 1] = month and count('tokens:' .. month) or -1 end
  end
end
return settled
