-- Counts a call that was never held. Unknown subjects are not counted here; they are loaded from the database.
for subject = 1, SUBJECTS do
  turn_to(subject)
  book(tonumber(ARGV[2]), ARGV[3])
end
return 1
