-- Holds again what calls in progress of the asking process hold, before the subject is known again: whoever loads it from
-- the database finds them.
hold_again(2)
keep()
return 1
