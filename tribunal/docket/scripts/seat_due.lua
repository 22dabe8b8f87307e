-- A seat is due: it ran out of time, its lease ran out, or it was never begun.
-- ARGV: case, stage, seat, '1' where the keeper saw the judge's queue empty, '0' where not, '' before it looked.
local id, stage, seat, empty = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local member = seat_member(id, stage, seat)
if get(id, 'status') ~= 'open' or number(id, 'stage') ~= stage or get(id, field(stage, seat, 'vote')) then
  redis.call('ZREM', DUE, member)
  return {'done'}
end
local case, at, ends = key('case', id), now_ms(), number(id, field(stage, seat, 'end'))
local attempts, lease = number(id, field(stage, seat, 'attempts')), number(id, field(stage, seat, 'lease'))
local token, sent = get(id, field(stage, seat, 'token')) or '', number(id, field(stage, seat, 'sent'))
local judge = get(id, field(stage, seat, 'judge'))
if at >= ends then
  local reason = attempts == 0 and 'no worker began it in time' or 'no answer in time'
  return {made_record(id, stage, seat, 'timeout', reason)}
end
if token ~= '' and lease > at then
  redis.call('ZADD', DUE, math.min(lease, ends), member)
  return {'waiting'}
end

local function resend()
  redis.call('HSET', case, field(stage, seat, 'sent'), at, field(stage, seat, 'token'), '', field(stage, seat, 'resent'), attempts)
  redis.call('ZADD', DUE, math.min(at + number(id, field(stage, seat, 'patience')), ends), member)
  event(id, 'resent', 'stage', stage, 'seat', seat, 'attempt', attempts)
  return {'resend', judge, tostring(at)}
end

-- An attempt began and ended without a vote (its lease ran out, or it was freed): send once for the next one.
if attempts > 0 and tonumber(get(id, field(stage, seat, 'resent')) or -1) < attempts then
  if attempts >= MAX_ATTEMPTS then
    local reason = 'the judge was lost ' .. attempts .. ' times'
    return {made_record(id, stage, seat, 'error', reason)}
  end
  return resend()
end
-- Sent, and not begun yet. Lost only if its queue is empty or the queue has handed out a later sending.
local patience = number(id, field(stage, seat, 'patience'))
if at < sent + patience then
  redis.call('ZADD', DUE, math.min(sent + patience, ends), member)
  return {'waiting'}
end
local handed_out = tonumber(redis.call('HGET', ns .. ':begun', judge)) or 0
if empty == '1' or handed_out > sent then return resend() end
if empty == '' then return {'look', judge} end
redis.call('ZADD', DUE, math.min(at + NUDGE_MS, ends), member)
return {'waiting'}
