-- Returns the usage of each subject in a month; their limits of calls per minute are the last arguments.
local uses = {}
for subject = 1, SUBJECTS do
  turn_to(subject)
  if not is_known() then return {-1} end
  uses[subject] = key_use(ARGV[2], tonumber(ARGV[2 + subject]))
end
return told(1, 0, uses)
