-- An attempt failed. ARGV: case, stage, seat, token, reason. Only the current lease's holder is believed.
local id, stage, seat, token, reason = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
if get(id, 'status') ~= 'open' or number(id, 'stage') ~= stage then return 'frozen' end
if get(id, field(stage, seat, 'vote')) then return 'voted' end
if token == '' or get(id, field(stage, seat, 'token')) ~= token then return 'stale' end
local at = now_ms()
if at >= number(id, field(stage, seat, 'end')) then
  return made_record(id, stage, seat, 'timeout', reason)
end
if number(id, field(stage, seat, 'attempts')) >= MAX_ATTEMPTS then
  return made_record(id, stage, seat, 'error', reason)
end
redis.call('HSET', key('case', id), field(stage, seat, 'token'), '', field(stage, seat, 'lease'), 0)
redis.call('ZADD', DUE, at, seat_member(id, stage, seat))
return 'retry'
