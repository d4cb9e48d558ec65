-- Counts a call that was never held. Unknown keys are not counted here; they are loaded from the database.
book(tonumber(ARGV[2]), ARGV[3])
return 1
