-- Freezes a stage's votes so that every trigger decides on the same ones (I3). ARGV: case, stage of a hint or ''.
-- Answers the whole case where it is frozen, now or earlier.
local id, hint = ARGV[1], tonumber(ARGV[2])
local case, status = key('case', id), get(id, 'status')
if not status then return {'gone'} end
if status == 'closed' then return {'closed'} end
if status == 'deciding' then return {'frozen', redis.call('HGETALL', case), redis.call('GET', key('subject', id)) or ''} end

local stage, at, trigger = number(id, 'stage'), now_ms(), nil
if get(id, 'skip') then trigger = 'skipped'
elseif number(id, 'open:' .. stage) <= 0 then trigger = 'complete'
elseif at >= number(id, 'deadline') then trigger = 'deadline'
elseif hint == stage then trigger = 'early' end
if not trigger then
  redis.call('ZADD', DUE, number(id, 'deadline'), id)
  return {'open'}
end

local votes, plan = {}, cjson.decode(get(id, 'plan'))
if trigger ~= 'skipped' then
  for _, seat in ipairs(plan.seats) do
    if seat.stage == stage then
      local vote = get(id, field(stage, seat.name, 'vote'))
      if not vote then
        vote = trigger == 'early' and made_vote(id, stage, seat.name, 'cut', 'not awaited')
          or made_vote(id, stage, seat.name, 'timeout', 'no answer by the deadline')
      end
      votes[#votes + 1] = vote
      redis.call('ZREM', DUE, seat_member(id, stage, seat.name))
    end
  end
end
local frozen = '{"stage":' .. stage .. ',"votes":[' .. table.concat(votes, ',') .. ']}'
redis.call('HSET', case, 'status', 'deciding', 'frozen', frozen, 'trigger', trigger)
redis.call('HINCRBY', case, 'freeze', 1)
redis.call('ZADD', DUE, at + NUDGE_MS, id)
event(id, 'deciding', 'stage', stage, 'trigger', trigger)
return {'frozen', redis.call('HGETALL', case), redis.call('GET', key('subject', id)) or ''}
