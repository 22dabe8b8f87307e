-- Notes what judge() told its caller before the seal. ARGV: case, the note as JSON. A closed case keeps its verdict.
local status = get(ARGV[1], 'status')
if not status then return 'gone' end
if status == 'closed' then return 'closed' end
redis.call('HSETNX', key('case', ARGV[1]), 'answered', ARGV[2])
return 'noted'
