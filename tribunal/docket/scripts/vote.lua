-- Records a vote. ARGV: case, stage, seat, token, status, the vote as JSON, '1' where it may decide alone.
local id, stage, seat, token, status, vote = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local case, state = key('case', id), get(id, 'status')
-- A case that was closed as a conflict has no verdict that a late vote could stand beside.
if not state or get(id, 'conflict') or not get(id, field(stage, seat, 'end')) then return 'gone' end
local made = get(id, field(stage, seat, 'made'))
if get(id, field(stage, seat, 'vote')) and not made then return 'repeat' end
-- An attempt that lost its lease may still bring a real vote, but its own failure is not the seat's.
local current = get(id, field(stage, seat, 'token')) == token
if not current and (status == 'timeout' or status == 'error') then return 'stale' end

local running = state == 'open' and number(id, 'stage') == stage and not made
if running and now_ms() < number(id, field(stage, seat, 'end')) then
  local answer = record(id, stage, seat, status, vote)
  if answer == 'recorded' and ARGV[7] == '1' then return 'decisive' end
  return answer
end
-- It came after its seat's end or after the freeze: recorded once, beside the verdict, and counted for nothing (I2).
if running then made_record(id, stage, seat, 'timeout', 'no answer in time') end
redis.call('HSET', case, field(stage, seat, 'vote'), get(id, field(stage, seat, 'vote')) or vote)
redis.call('HDEL', case, field(stage, seat, 'made'))
redis.call('RPUSH', LATE, '{"case_id":' .. cjson.encode(id) .. ',"stage":' .. stage .. ',"vote":' .. vote .. '}')
return 'late'
