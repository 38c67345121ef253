/**
 * NAME      alarms - rates of what goes wrong, answers of upstreams and outages
 *   A fold adds counts and judges (rules/watch.ts), in one transaction with the mark of the log up to which they are
 *   told, with the event of an alarm and with its hold. So whoever dies and counts again from the stored mark counts
 *   nothing twice and tells nothing twice. The cause of an alarm is found in the newest events of its kind, when it is
 *   raised and then once a minute. Judged are the workspaces that were counted now, and those whose alarms stand,
 *   since these end by time alone.
 *   What hard bounces are a share of: recipients of live mail that were taken or refused, and those deferred at their
 *   first attempt. It is counted in the log, and only when a share is to be judged, so that mail which is taken costs
 *   nothing; no more of the log is read than READ_BACK. What was usual in the days before stands in the statistics,
 *   and how many of those were hard in hard_counts, since a report names no upstream there.
 *   What was told last of an upstream is stored in the transaction of the event, so a restart neither tells it again
 *   nor forgets to tell that it is over.
 */

import { type BouncedShare, SLOW_BEFORE_MS } from '../../lifecycle/suppress.js'
import {
  ALARM_EVENTS,
  ALARMS,
  type Alarm,
  type Cause,
  type Countable,
  causeIn,
  MOST_OF_CAUSE,
  type Rate,
} from '../port/alarms.js'
import type { EventNotice } from '../port/log.js'
import type { HoldRow } from '../port/operations.js'
import { json, plain } from '../port/row.js'
import {
  type Added,
  type AlarmCount,
  type AlarmTurn,
  DIMENSIONS,
  type Outage,
  type StandingAlarm,
  type Watch,
} from '../port/watch.js'
import {
  answeredIn,
  causesDue,
  forgottenBefore,
  type Judging,
  judgeWorkspace,
  windowOf,
} from '../rules/watch.js'
import { kindOf, readFlags, scopeOf, UnpackMore } from './log/events.js'
import type { MailTables } from './mails.js'
import { ordAt } from './pages.js'
import { type Asked, type Asking, all, first, run } from './query.js'
import { table } from './table.js'

/** Both write in the transaction that runs. */
interface AlarmParts {
  addHold(hold: HoldRow): Asking<unknown>
  addNotice(notice: EventNotice): Asking<unknown>
}

const JUDGED = table<Judging>('workspaces', {
  id: plain(),
  accountId: plain(),
  alarms: json(),
  onAlarm: plain(),
  alarmed: json(),
})

const COUNTED = ['tried', 'complaints', 'hard_bounces', 'deferrals']

// of a workspace that is gone nothing is counted
const ADD = `INSERT INTO alarm_counts (workspace, span, ${COUNTED.join(', ')})
  SELECT n, ${new Array(5).fill('CAST(? AS BIGINT)').join(', ')} FROM workspaces WHERE id = ? AND deleted_at IS NULL
  ON CONFLICT (workspace, span) DO UPDATE SET ${COUNTED.map((one) => `${one} = alarm_counts.${one} + excluded.${one}`).join(', ')}`

const add = ({ workspaceId, span, tried, complaints, hardBounces, deferrals }: AlarmCount): Asking<number> =>
  run(ADD, span, tried, complaints, hardBounces, deferrals, workspaceId)

function* rateOf(id: string, alarm: Alarm, now: number): Asking<Rate> {
  const row = yield* first(
    `SELECT CAST(coalesce(sum(${alarm}), 0) AS BIGINT) AS count, CAST(coalesce(sum(tried), 0) AS BIGINT) AS tried
     FROM alarm_counts WHERE workspace = (SELECT n FROM workspaces WHERE id = ?) AND span > ? AND span <= ?`,
    id,
    ...windowOf(alarm, now),
  )
  return { count: Number(row?.count), tried: Number(row?.tried) }
}

// the newest, and of them those of the window: time is in no index
const LIKELY = `SELECT flags, reason, more, occurred_at AS at,
  (SELECT r.address_lc FROM recipients r WHERE r.id = v.recipient) AS address
  FROM events v WHERE scope = ? AND kind = ? ORDER BY ord DESC LIMIT ${MOST_OF_CAUSE}`

function* causeOf(id: string, alarm: Alarm, now: number): Asking<Cause | null> {
  const n = (yield* first('SELECT n FROM workspaces WHERE id = ?', id))?.n as number
  const [after] = windowOf(alarm, now)
  const unpack = new UnpackMore()
  const events: Countable[] = []
  for (const row of yield* all(LIKELY, scopeOf(n, false), kindOf(ALARM_EVENTS[alarm]))) {
    if ((row.at as number) <= after) continue
    const { reply, detail } = yield* unpack.more(row.more as string | null)
    const { source, change } = readFlags(row.flags as number)
    const [reason, recipient] = [row.reason as string | null, row.address as string | null]
    events.push({ source, change, reason, recipient, reply, detail })
  }
  return causeIn(alarm, events)
}

function* holdOf(id: string): Asking<string | null> {
  const row = yield* first(
    'SELECT id FROM holds WHERE workspace_id = ? AND pool_id IS NULL AND domain IS NULL AND email_id IS NULL',
    id,
  )
  return (row?.id ?? null) as string | null
}

/** In the order in which they were made. */
function* standing(): Asking<readonly Judging[]> {
  const rows = yield* all(
    `SELECT ${JUDGED.columns} FROM workspaces WHERE alarmed <> '{}' AND deleted_at IS NULL ORDER BY ord`,
  )
  return rows.map(JUDGED.decode)
}

/** Adds counts, and judges. */
export const alarmFold = ({ addHold, addNotice }: AlarmParts) => {
  function* judge(id: string, now: number): Asking<readonly AlarmTurn[]> {
    const of = '(SELECT n FROM workspaces WHERE id = ?)'
    yield* run(`DELETE FROM alarm_counts WHERE workspace = ${of} AND span < ?`, id, forgottenBefore(now))
    const text = `SELECT ${JUDGED.columns} FROM workspaces WHERE id = ? AND deleted_at IS NULL`
    const found = yield* first(text, id)
    if (found === null) return []
    const row = JUDGED.decode(found)
    const rates = {} as Record<Alarm, Rate>
    for (const alarm of ALARMS) rates[alarm] = yield* rateOf(id, alarm, now)
    const rate = (alarm: Alarm): Rate => rates[alarm]
    const causes: Partial<Record<Alarm, Cause | null>> = {}
    for (const alarm of causesDue(row, rate, now)) causes[alarm] = yield* causeOf(id, alarm, now)
    const { alarmed, turns, notices } = judgeWorkspace(
      row,
      { rateOf: rate, causeOf: (alarm) => causes[alarm] ?? null, holdId: yield* holdOf(id) },
      now,
    )
    for (const { hold } of turns) if (hold !== null) yield* addHold(hold)
    for (const notice of notices) yield* addNotice(notice)
    const after = JSON.stringify(alarmed)
    if (after !== JSON.stringify(row.alarmed))
      yield* run('UPDATE workspaces SET alarmed = ? WHERE id = ?', after, id)
    return turns
  }

  return function* ({ counts, now }: Added<'alarms'>): Asking<readonly AlarmTurn[]> {
    for (const count of counts) yield* add(count)
    const touched = counts.map(({ workspaceId }) => workspaceId)
    for (const { id } of yield* standing()) touched.push(id)
    const turns: AlarmTurn[] = []
    for (const id of new Set(touched)) turns.push(...(yield* judge(id, now)))
    return turns
  }
}

export const alarmReads = {
  *standingAlarms(): Asking<readonly StandingAlarm[]> {
    return (yield* standing()).flatMap(({ id, alarmed }) =>
      (Object.keys(alarmed) as Alarm[]).sort().map((alarm) => ({ workspaceId: id, alarm })),
    )
  },
}

const HOUR = 3_600_000
/** A report is measured against the time at which its mail was taken, a day ago at most. */
export const LONGEST_MS = 24 * HOUR
const READ_BACK = 100_000

/** By domain, since then. */
export const answersOf = ({ mtaOfEvent, record, domainOf }: MailTables) => {
  const text = `SELECT ${domainOf} AS domain, count(*) AS n FROM (
      SELECT e.* FROM events e WHERE e.ord >= ? AND e.scope % 2 = 0
        AND (e.kind IN (${kindOf('email.sent')}, ${kindOf('email.bounced')})
          OR e.kind = ${kindOf('email.deferred')} AND e.attempt = 1)
      ORDER BY e.ord DESC LIMIT ${READ_BACK}) AS e
    JOIN mtas m ON m.n = ${mtaOfEvent} JOIN ${record} r ON r.id = e.recipient
    WHERE m.upstream_id = ? AND e.occurred_at >= ? GROUP BY 1`
  return function* (upstreamId: string, from: number): Asking<ReadonlyMap<string, number>> {
    const rows = yield* all(text, ordAt(from), upstreamId, from)
    return new Map(rows.map(({ domain, n }) => [String(domain), Number(n)]))
  }
}

const COUNT = `INSERT INTO hard_counts (cause, hour, n) VALUES (?, ?, 1)
  ON CONFLICT (hour, cause) DO UPDATE SET n = hard_counts.n + 1`

/** One more that was listed. */
export const countHard = (cause: string, now: number): Asking<number> =>
  run(COUNT, cause, Math.floor(now / HOUR))

/** What is older than anything is measured by; the first of all, of no cause, tells since when is counted. */
export const forgetHard = (now: number): Asking<number> =>
  run("DELETE FROM hard_counts WHERE hour < ? AND cause <> ''", Math.floor((now - SLOW_BEFORE_MS) / HOUR) - 2)

const HARD = `SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM hard_counts WHERE cause = ? AND hour >= ? AND hour < ?`
const COUNTED_SINCE = 'SELECT min(hour) AS hour FROM hard_counts'
// a seek for each hour
const ANSWERS = `WITH RECURSIVE hours (at) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT at + 60 FROM hours WHERE at < ?)
  SELECT s.at, s.counts FROM hours h JOIN statistics s ON s.span = 60 AND s.at = h.at
    AND s.dimension = ${DIMENSIONS.indexOf('upstream')}
  JOIN workspaces w ON w.n = s.workspace WHERE s.test = 0 AND s.value = ? AND w.account_id = ?`

/** When the hour before this one began: what is slow is seen from there on. */
export const slowFrom = (now: number): number => (Math.floor(now / HOUR) - 1) * HOUR

/** What an upstream answered in the hour before and since, and what was usual in the seven days before. */
export function* usualOf(
  accountId: string,
  upstreamId: string,
  cause: string,
  now: number,
): Asking<{ readonly outcomes: number; readonly before: BouncedShare }> {
  const to = slowFrom(now) / HOUR
  const since = Number((yield* first(COUNTED_SINCE))?.hour ?? 0)
  const from = Math.max(to - SLOW_BEFORE_MS / HOUR, since)
  const addresses = Number((yield* first(HARD, cause, from, to))?.n)
  const sums = { before: 0, now: 0 }
  for (const row of yield* all(ANSWERS, from * 60, (to + 1) * 60, upstreamId, accountId))
    sums[Number(row.at) < to * 60 ? 'before' : 'now'] += answeredIn(
      JSON.parse(String(row.counts)) as number[],
    )
  return { outcomes: sums.now, before: { addresses, outcomes: sums.before } }
}

const ADD_OUTAGE = 'INSERT INTO outages (upstream_id, since) VALUES (?, ?) ON CONFLICT DO NOTHING'
const END = 'DELETE FROM outages WHERE upstream_id = ?'

/** `addNotice` writes in the transaction that runs. */
export const outageWrites = (
  addNotice: (notice: EventNotice) => Asking<unknown>,
): Asked<Pick<Watch, 'noteOutage'>> => ({
  *noteOutage(upstreamId, since, notice) {
    const changes = since === null ? yield* run(END, upstreamId) : yield* run(ADD_OUTAGE, upstreamId, since)
    if (changes === 1 && notice !== null) yield* addNotice(notice)
    return changes === 1
  },
})

export const outageReads = {
  *outages(): Asking<readonly Outage[]> {
    const rows = yield* all('SELECT upstream_id, since FROM outages')
    return rows.map(({ upstream_id: upstreamId, since }) => ({ upstreamId, since }) as Outage)
  },
}
