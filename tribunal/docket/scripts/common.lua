-- Shared by every script; prepended to each. KEYS[1] is the namespace: the keys of a case are made from it and the
-- case's id, which rules out Redis Cluster. Times are milliseconds by this server's clock.
local ns = KEYS[1]
local MAX_ATTEMPTS = 2 -- how often a seat's judge may begin
local RETENTION_S = 600
local NUDGE_MS = 1000

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function key(kind, id) return ns .. ':' .. kind .. ':' .. id end
local DUE, OPEN, LATE = ns .. ':due', ns .. ':open', ns .. ':late'

local function seat_member(id, stage, seat) return id .. ':' .. stage .. ':' .. seat end
local function field(stage, seat, name) return stage .. ':' .. seat .. ':' .. name end
local function get(id, name) return redis.call('HGET', key('case', id), name) end
local function number(id, name) return tonumber(get(id, name)) or 0 end

-- Events are bounded by the number of seats and attempts, so the stream is not trimmed.
local function event(id, kind, ...)
  redis.call('XADD', key('events', id), '*', 'event', kind, 'at', now_ms(), ...)
end

-- A vote that no judge cast. Flat, so that cjson cannot turn an empty list into an object.
local function made_vote(id, stage, seat, status, reason)
  local attempts = number(id, field(stage, seat, 'attempts'))
  local vote = {seat = seat, judge = get(id, field(stage, seat, 'judge')), status = status, reason = reason,
                attempt = attempts}
  return cjson.encode(vote)
end

-- Records a seat's one vote (I5) and says whether the stage is complete: the join that the chord's callback needs.
-- "made" marks one that no judge cast: what the judge says later is late, not a repetition.
local function record(id, stage, seat, status, vote, made)
  redis.call('HSET', key('case', id), field(stage, seat, 'vote'), vote, field(stage, seat, 'token'), '')
  if made then redis.call('HSET', key('case', id), field(stage, seat, 'made'), 1) end
  redis.call('ZREM', DUE, seat_member(id, stage, seat))
  local open = redis.call('HINCRBY', key('case', id), 'open:' .. stage, -1)
  event(id, 'voted', 'stage', stage, 'seat', seat, 'status', status)
  if open > 0 then return 'recorded' end
  redis.call('ZADD', DUE, now_ms() + NUDGE_MS, id)
  return 'complete'
end

local function made_record(id, stage, seat, status, reason)
  return record(id, stage, seat, status, made_vote(id, stage, seat, status, reason), true)
end

-- Opens a stage's seats; a seat whose judge is not configured abstains at once. Returns the seats to dispatch.
local function seat_stage(id, plan, stage, started, deadline)
  local case, open, dispatch = key('case', id), 0, {}
  redis.call('HSET', case, 'stage', stage, 'status', 'open')
  local ends = deadline
  if stage == 1 and plan.share_ms then ends = math.min(deadline, started + plan.share_ms) end
  for _, seat in ipairs(plan.seats) do
    if seat.stage == stage then
      redis.call('HSET', case, field(stage, seat.name, 'judge'), seat.judge)
      if seat.missing then
        local reason = 'no judge "' .. seat.judge .. '" is configured here'
        redis.call('HSET', case, field(stage, seat.name, 'vote'), made_vote(id, stage, seat.name, 'abstained', reason))
        event(id, 'voted', 'stage', stage, 'seat', seat.name, 'status', 'abstained')
      else
        local finish = math.min(started + seat.span_ms, ends)
        local patience = math.min(math.floor(math.max(finish - started, 2) / 2), 3000)
        -- A lease is three renewals long, a renewal a sixth of the seat's time within 0.4 to 5 s.
        local lease = 3 * math.min(math.max(math.floor(seat.span_ms / 6), 400), 5000)
        redis.call('HSET', case, field(stage, seat.name, 'end'), finish, field(stage, seat.name, 'patience'), patience,
          field(stage, seat.name, 'lease_ms'), lease, field(stage, seat.name, 'sent'), started, field(stage, seat.name, 'attempts'), 0)
        redis.call('ZADD', DUE, math.min(started + patience, finish), seat_member(id, stage, seat.name))
        open = open + 1
        dispatch[#dispatch + 1] = seat.name
        dispatch[#dispatch + 1] = seat.judge
      end
    end
  end
  redis.call('HSET', case, 'open:' .. stage, open)
  redis.call('ZADD', DUE, open > 0 and deadline or started + NUDGE_MS, id)
  return dispatch
end
