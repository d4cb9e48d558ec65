-- Returns the key's usage in a month; its limit of calls per minute is the last argument.
if not is_known() then return {-1} end
return told(1, key_use(ARGV[2], tonumber(ARGV[3])))
