-- Renews a lease. ARGV: case, stage, seat, token. Says whether the judge should go on.
local id, stage, seat, token = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
if get(id, 'status') ~= 'open' or number(id, 'stage') ~= stage or get(id, field(stage, seat, 'vote')) then
  return 'frozen'
end
if get(id, field(stage, seat, 'token')) ~= token then return 'lost' end
local lease = now_ms() + number(id, field(stage, seat, 'lease_ms'))
redis.call('HSET', key('case', id), field(stage, seat, 'lease'), lease)
redis.call('ZADD', DUE, math.min(lease, number(id, field(stage, seat, 'end'))), seat_member(id, stage, seat))
return 'renewed'
