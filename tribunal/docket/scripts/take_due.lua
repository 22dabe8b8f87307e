-- What is due now, at most ARGV[1] entries. Each is pushed a second ahead: whoever takes it may die.
local at = now_ms()
local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', at, 'LIMIT', 0, tonumber(ARGV[1]))
for _, member in ipairs(due) do redis.call('ZADD', DUE, at + NUDGE_MS, member) end
return due
