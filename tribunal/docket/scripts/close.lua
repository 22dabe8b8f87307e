-- Closes a sealed case and wakes who waits. ARGV: case, the verdict as JSON, its outcome.
local id, verdict, outcome = ARGV[1], ARGV[2], ARGV[3]
local case, status = key('case', id), get(id, 'status')
if not status then return 'gone' end
if status == 'closed' then return 'already' end
local plan = cjson.decode(get(id, 'plan'))
for _, seat in ipairs(plan.seats) do redis.call('ZREM', DUE, seat_member(id, seat.stage, seat.name)) end
redis.call('ZREM', DUE, id)
redis.call('ZREM', OPEN, id)
redis.call('DEL', key('subject', id))

local lineage = get(id, 'lineage')
if lineage and redis.call('HGET', key('lineage', lineage), 'last') == id then
  if outcome == 'needs_revision' or outcome == 'escalate' then
    redis.call('HSET', key('lineage', lineage), 'state', outcome)
    redis.call('HSET', ns .. ':lineage_of', id, lineage)
  else
    redis.call('DEL', key('lineage', lineage))
  end
end
redis.call('HSET', case, 'status', 'closed')
redis.call('HDEL', case, 'plan', 'context', 'facts', 'history', 'frozen')
redis.call('XADD', key('events', id), '*', 'event', 'verdict', 'at', now_ms(), 'verdict', verdict)
redis.call('EXPIRE', case, RETENTION_S)
redis.call('EXPIRE', key('events', id), RETENTION_S)
return 'closed'
