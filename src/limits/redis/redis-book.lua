-- Counts a call that was never held. Of a key nothing is known of nothing is counted: the database will tell.
book(tonumber(ARGV[2]), ARGV[3])
return 1
