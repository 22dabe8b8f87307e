-- Forgets a lineage that a case escalated, so that its target starts again with round 1. ARGV: lineage, that case.
-- Where another case came since, nothing is done: a reopening can be repeated safely.
local line = key('lineage', ARGV[1])
if redis.call('HGET', line, 'last') ~= ARGV[2] or redis.call('HGET', line, 'state') ~= 'escalate' then return 0 end
redis.call('DEL', line)
redis.call('HDEL', ns .. ':lineage_of', ARGV[2])
return 1
