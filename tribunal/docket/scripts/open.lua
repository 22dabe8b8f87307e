-- Opens a case, once. ARGV: the case's header as JSON, the context as JSON, the facts as JSON, the subject.
local header, context, facts, subject = cjson.decode(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local id = header.case_id
local case = key('case', id)

-- The seats of stage 1 that nobody began: a producer that submits again may have died, or not been answered, before it
-- sent them. One that still waits in its queue is sent twice then, and the second sending finds nothing to do.
local function unbegun(id)
  local found = {}
  if get(id, 'status') ~= 'open' or number(id, 'stage') ~= 1 or get(id, 'skip') then return found end
  for _, seat in ipairs(cjson.decode(get(id, 'plan')).seats) do
    if seat.stage == 1 and not get(id, field(1, seat.name, 'vote')) and get(id, field(1, seat.name, 'attempts')) == '0' then
      found[#found + 1] = seat.name
      found[#found + 1] = seat.judge
    end
  end
  return found
end

local digest = get(id, 'digest')
if digest then
  if digest ~= header.digest then return {'conflict'} end
  -- A write, so that WAITAOF on this connection waits for the first one's as well.
  redis.call('HSET', case, 'asked', now_ms())
  return {'exists', get(id, 'opened'), get(id, 'deadline'), unbegun(id)}
end

local published = redis.call('HGET', ns .. ':panels', header.panel)
if not published then return {'unknown', redis.call('HKEYS', ns .. ':panels')} end
local plan = cjson.decode(published)
if plan.version ~= header.panel_version then return {'stale', published} end

-- A lineage is a routine's diffs for one target, round after round. "previous" is used once.
local at = now_ms()
local lineage, round, run = header.lineage, 1, at
if lineage == '' and header.previous ~= '' then
  lineage = redis.call('HGET', ns .. ':lineage_of', header.previous) or ''
  local routine = lineage ~= '' and redis.call('HGET', key('lineage', lineage), 'routine')
  if routine ~= header.panel .. '/' .. header.routine then return {'lineage', 'unknown', header.previous} end
end
if lineage ~= '' then
  local line = key('lineage', lineage)
  local state, last = redis.call('HGET', line, 'state'), redis.call('HGET', line, 'last')
  if state == 'open' then return {'lineage', 'open', last} end
  if state == 'escalate' then return {'lineage', 'escalate', last} end
  if state == 'needs_revision' and header.previous ~= last then return {'lineage', 'previous', last} end
  if not state and header.previous ~= '' then return {'lineage', 'closed', header.previous} end
  if state then
    round, run = tonumber(redis.call('HGET', line, 'round')) + 1, redis.call('HGET', line, 'run')
    redis.call('HDEL', ns .. ':lineage_of', last)
  end
  redis.call('HSET', line, 'state', 'open', 'last', id, 'round', round, 'run', run,
    'routine', header.panel .. '/' .. header.routine)
end

local deadline = at + plan.deadline_ms
redis.call('HSET', case, 'schema', header.schema_version, 'digest', header.digest, 'panel', header.panel,
  'plan', published, 'context', context, 'facts', facts, 'subject_sha256', header.subject_sha256,
  'subject_bytes', header.subject_bytes, 'opened', at, 'deadline', deadline, 'freeze', 0, 'history', '[]')
if lineage ~= '' then
  redis.call('HSET', case, 'lineage', lineage, 'round', round, 'run', run, 'previous', header.previous)
end
redis.call('SET', key('subject', id), subject)
redis.call('ZADD', OPEN, at, id)
event(id, 'opened', 'panel', header.panel, 'deadline', deadline)
local dispatch = {}
if header.skip then
  redis.call('HSET', case, 'skip', 1, 'stage', 1, 'status', 'open', 'open:1', 0)
  redis.call('ZADD', DUE, at + NUDGE_MS, id)
else
  dispatch = seat_stage(id, plan, 1, at, deadline)
end
return {'opened', tostring(at), tostring(deadline), dispatch}
