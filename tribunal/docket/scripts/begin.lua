-- A judge's task begins: counts the attempt and takes the seat's lease. ARGV: case, stage, seat, token, when it was sent.
local id, stage, seat, token, sent = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local case = key('case', id)
local status = get(id, 'status')
if not status then return {'gone'} end
if status ~= 'open' or number(id, 'stage') ~= stage then return {'frozen'} end
if get(id, field(stage, seat, 'vote')) then return {'voted'} end
if not get(id, field(stage, seat, 'end')) then return {'gone'} end

local at, ends = now_ms(), number(id, field(stage, seat, 'end'))
local lease_ms, attempts = number(id, field(stage, seat, 'lease_ms')), number(id, field(stage, seat, 'attempts'))
local holder, lease = get(id, field(stage, seat, 'token')) or '', number(id, field(stage, seat, 'lease'))
if at >= ends then return {'over'} end
-- The same token again is the same sending whose answer got lost on the way: the attempt is already counted.
if not (holder == token and lease > at) then
  if holder ~= '' and lease > at then return {'leased'} end
  if attempts >= MAX_ATTEMPTS then return {'spent'} end
  attempts = attempts + 1
  redis.call('HSET', case, field(stage, seat, 'attempts'), attempts, field(stage, seat, 'begun'), at)
  event(id, 'began', 'stage', stage, 'seat', seat, 'attempt', attempts)
end
redis.call('HSET', case, field(stage, seat, 'token'), token, field(stage, seat, 'lease'), at + lease_ms)
redis.call('ZADD', DUE, math.min(at + lease_ms, ends), seat_member(id, stage, seat))

-- The newest sending that this judge's queue has handed out: an older one that was never begun is lost.
local judge = get(id, field(stage, seat, 'judge'))
if sent > (tonumber(redis.call('HGET', ns .. ':begun', judge)) or 0) then
  redis.call('HSET', ns .. ':begun', judge, sent)
end
return {'begun', attempts, tostring(ends - at), lease_ms, get(id, 'panel'), cjson.decode(get(id, 'plan')).procedure, judge,
        get(id, 'context'), get(id, 'history'), redis.call('GET', key('subject', id)) or ''}
