-- Opens another stage. ARGV: case, the new stage, the freeze number that the caller decided on.
local id, stage, freeze = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local case = key('case', id)
if get(id, 'status') ~= 'deciding' or get(id, 'freeze') ~= freeze or number(id, 'stage') >= stage then
  return {'already'}
end
local at, deadline = now_ms(), number(id, 'deadline')
if at >= deadline then return {'no time'} end
local history, frozen = get(id, 'history'), get(id, 'frozen')
history = history == '[]' and '[' .. frozen .. ']' or string.sub(history, 1, -2) .. ',' .. frozen .. ']'
redis.call('HSET', case, 'history', history)
redis.call('HDEL', case, 'frozen', 'trigger')
event(id, 'stage', 'stage', stage)
return {'opened', seat_stage(id, cjson.decode(get(id, 'plan')), stage, at, deadline), tostring(at)}
