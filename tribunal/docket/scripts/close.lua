-- Closes a sealed case and wakes who waits. ARGV: case, the verdict as JSON, its outcome; or, where the ledger holds a
-- verdict of that id on other content, case, '', and that verdict's number.
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
local line = lineage and key('lineage', lineage)
if line and redis.call('HGET', line, 'last') == id then
  local previous = get(id, 'previous') or ''
  if verdict == '' and previous ~= '' then
    -- As if this case had never come.
    redis.call('HSET', line, 'state', 'needs_revision', 'last', previous, 'round', number(id, 'round') - 1)
    redis.call('HSET', ns .. ':lineage_of', previous, lineage)
  elseif verdict ~= '' and (outcome == 'needs_revision' or outcome == 'escalate') then
    redis.call('HSET', line, 'state', outcome)
    redis.call('HSET', ns .. ':lineage_of', id, lineage)
  else
    redis.call('DEL', line)
  end
end
redis.call('HSET', case, 'status', 'closed')
redis.call('HDEL', case, 'plan', 'context', 'facts', 'history', 'frozen')
if verdict == '' then
  redis.call('HSET', case, 'conflict', 1)
  event(id, 'conflict', 'seq', outcome)
else
  event(id, 'verdict', 'verdict', verdict)
end
redis.call('EXPIRE', case, RETENTION_S)
redis.call('EXPIRE', key('events', id), RETENTION_S)
return 'closed'
