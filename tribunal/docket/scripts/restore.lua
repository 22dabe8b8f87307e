-- Puts back a lineage that Redis lost. ARGV: lineage, last case, outcome, round, run, panel/routine.
local line = key('lineage', ARGV[1])
if redis.call('EXISTS', line) == 1 then return 0 end
redis.call('HSET', line, 'last', ARGV[2], 'state', ARGV[3], 'round', ARGV[4], 'run', ARGV[5], 'routine', ARGV[6])
redis.call('HSET', ns .. ':lineage_of', ARGV[2], ARGV[1])
return 1
