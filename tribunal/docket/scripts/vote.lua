-- Records a vote. ARGV: case, stage, seat, token, status, the vote as JSON, '1' where it may decide alone.
local id, stage, seat, token, status, vote = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local state = get(id, 'status')
if not state then return 'gone' end
if get(id, field(stage, seat, 'vote')) then return 'repeat' end
if not get(id, field(stage, seat, 'end')) then return 'gone' end
-- An attempt that lost its lease may still bring a real vote, but its own failure is not the seat's.
local current = get(id, field(stage, seat, 'token')) == token
if not current and (status == 'timeout' or status == 'error') then return 'stale' end
if state ~= 'open' or number(id, 'stage') ~= stage then
  redis.call('RPUSH', LATE, '{"case_id":' .. cjson.encode(id) .. ',"stage":' .. stage .. ',"vote":' .. vote .. '}')
  redis.call('HSET', key('case', id), field(stage, seat, 'vote'), vote)
  return 'late'
end
local answer = record(id, stage, seat, status, vote)
if answer == 'recorded' and ARGV[7] == '1' then return 'decisive' end
return answer
