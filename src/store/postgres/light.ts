/**
 * NAME      light - writes that no mail waits for
 *   Each mail counts in the window of its sender, and many claim a key: calls that come while an earlier round trip is
 *   under way go together, one statement for all that count and one for all that claim. They have a connection of
 *   their own, so no list and no search is in their way, and no fence: they are exact among all daemons by the locks
 *   of their rows. They do not wait for the disk. An idempotency key whose claim was lost is found gone by accept,
 *   which then stores nothing. A claim whose answer was lost is made again by the same token, and is the same. A count
 *   that was lost lets a few more through in the minute of a crash.
 *   Without a fence, and without waiting for the disk: a crash may lose it.
 */
import { systemClock } from '../../base/clock.js'
import { ANSWER_KEPT_MS, type IdempotencyRow, keyState, type WindowCount } from '../../lifecycle/accept.js'
import type { IdempotencyClaim, IdempotencyState } from '../../lifecycle/facts.js'
import { type Asking, all, type Row, run } from '../sql/query.js'
import type { Touch } from '../sql/tenants.js'
import type { Connection } from './connection.js'
import { createOne } from './points.js'
import { answerRead, gather, persistently } from './run.js'

/** Its value must be used, or it is not evaluated; it is over with the statement. */
export const LIGHT = "WITH light AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS s)"

/** Who is refused locks nothing, and so waits for no accept that is about to answer the key. */
const CLAIM = `${LIGHT}, given AS MATERIALIZED (
  SELECT g.*, w.n AS workspace FROM unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]),
    CAST(? AS TEXT[]), CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) WITH ORDINALITY
    AS g (workspace_id, test, key, fingerprint, token, locked_until, now, i) JOIN workspaces w ON w.id = g.workspace_id),
fresh AS (
  INSERT INTO idempotency (workspace, test, key, fingerprint, token, locked_until)
  SELECT workspace, test, key, fingerprint, token, locked_until FROM given g, light WHERE light.s IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM idempotency d WHERE d.workspace = g.workspace AND d.test = g.test AND d.key = g.key)
  ORDER BY workspace, test, key, i
  ON CONFLICT DO NOTHING RETURNING workspace, test, key, token),
renewed AS (
  UPDATE idempotency d SET fingerprint = g.fingerprint, token = g.token, locked_until = g.locked_until,
    completed_at = NULL, status = NULL, body = NULL
  FROM given g, light WHERE light.s IS NOT NULL AND d.workspace = g.workspace AND d.test = g.test AND d.key = g.key
    AND CASE WHEN d.completed_at IS NULL THEN d.token = g.token OR d.locked_until <= g.now
      ELSE d.completed_at < g.now - ${ANSWER_KEPT_MS} END
  RETURNING d.workspace, d.test, d.key, d.token)
SELECT g.i, c.token IS NOT NULL AS mine, d.fingerprint, d.locked_until AS "lockedUntil", d.completed_at AS "completedAt",
  d.status, d.body
FROM given g LEFT JOIN (SELECT * FROM fresh UNION ALL SELECT * FROM renewed) c
  ON c.workspace = g.workspace AND c.test = g.test AND c.key = g.key AND c.token = g.token
LEFT JOIN idempotency d ON d.workspace = g.workspace AND d.test = g.test AND d.key = g.key`

const RELEASE = `${LIGHT} DELETE FROM idempotency d USING light, workspaces w, unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[]),
    CAST(? AS TEXT[]), CAST(? AS TEXT[])) AS g (workspace_id, test, key, token)
  WHERE w.id = g.workspace_id AND d.workspace = w.n AND d.test = g.test AND d.key = g.key AND d.token = g.token
    AND d.completed_at IS NULL AND light.s IS NOT NULL`

/** Of each window as many calls as fit, all of the same size; `got` is what this statement has added. */
const CONSUME = `${LIGHT}, asked AS MATERIALIZED (
  SELECT * FROM unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[]), CAST(? AS BIGINT[]), CAST(? AS BIGINT[]), CAST(? AS BIGINT[]))
    WITH ORDINALITY AS a (bucket, span, n, most, calls, i)),
counted AS (
  INSERT INTO rate_windows AS d (bucket, span, used, got, at)
  SELECT bucket, span, least(calls, most / n) * n, least(calls, most / n) * n, CAST(? AS BIGINT) FROM asked, light
  WHERE light.s IS NOT NULL AND n > 0 AND n <= most ORDER BY bucket, span
  ON CONFLICT (bucket, span) DO UPDATE SET (used, got) = (
    SELECT d.used + fits.n, fits.n FROM asked a, LATERAL (SELECT least(a.calls, (a.most - d.used) / a.n) * a.n AS n) fits
    WHERE a.bucket = d.bucket AND a.span = d.span)
  WHERE EXISTS (SELECT 1 FROM asked a WHERE a.bucket = d.bucket AND a.span = d.span AND d.used + a.n <= a.most)
  RETURNING bucket, span, used, got)
SELECT a.i, coalesce(c.got, 0) AS got, coalesce(c.used, d.used, 0) AS used
FROM asked a LEFT JOIN counted c ON c.bucket = a.bucket AND c.span = a.span
LEFT JOIN rate_windows d ON d.bucket = a.bucket AND d.span = a.span`

/** Calls in one statement. */
const MOST = 200
const MOST_TRIES = 5

type KeyCall = Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>

interface Consumption {
  readonly bucket: string
  readonly window: number
  readonly n: number
  readonly limit: number
}

type Ask = (text: string, ...columns: readonly unknown[]) => Promise<readonly Row[]>

const keysOf = (calls: readonly KeyCall[]) => [
  calls.map(({ workspaceId }) => workspaceId),
  calls.map(({ mode }) => (mode === 'test' ? 1 : 0)),
  calls.map(({ key }) => key),
]

/** Of each row the number that its call has in the statement. */
const byNumber = (rows: readonly Row[]): ReadonlyMap<number, Row> =>
  new Map(rows.map((row) => [Number(row.i) - 1, row]))

/** What a claim finds; null: somebody was quicker, and is seen by whoever looks again. */
const claimAll = async (
  ask: Ask,
  claims: readonly IdempotencyClaim[],
): Promise<readonly (IdempotencyState | null)[]> => {
  const rows = byNumber(
    await ask(
      ...[CLAIM, ...keysOf(claims)],
      claims.map(({ fingerprint }) => fingerprint),
      claims.map(({ token }) => token),
      claims.map(({ lockedUntil }) => lockedUntil),
      claims.map(({ now }) => now),
    ),
  )
  return claims.map((claim, i) => {
    const row = rows.get(i)
    if (row === undefined) return null
    if (row.mine === true) return { state: 'claimed' }
    const found = keyState(row.fingerprint === null ? null : (row as unknown as IdempotencyRow), claim)
    return found.state === 'claimed' ? null : found
  })
}

/** Calls of one size for one window, in order of arrival. */
interface Group {
  readonly of: Consumption
  readonly calls: number[]
}

/** Those of the same window that differ in size or limit are left for the next statement. */
const groupsOf = (calls: readonly Consumption[], left: readonly number[]): readonly Group[] => {
  const groups = new Map<string, Group>()
  for (const i of left) {
    const of = calls[i] as Consumption
    const name = `${of.window} ${of.bucket}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, { of, calls: [i] })
    else if (group.of.n === of.n && group.of.limit === of.limit) group.calls.push(i)
  }
  return [...groups.values()]
}

/** What each of them is told: the first ones have what there was. */
const deal = ({ of: { n, limit }, calls }: Group, row: Row | undefined): readonly WindowCount[] => {
  const [got, used] = [Number(row?.got ?? 0), Number(row?.used ?? 0)]
  return calls.map((_, i) => {
    if (n === 0) return { allowed: used <= limit, used }
    const after = used - got + (i + 1) * n
    return after <= used ? { allowed: true, used: after } : { allowed: false, used }
  })
}

const consumeAll = async (ask: Ask, calls: readonly Consumption[]): Promise<readonly WindowCount[]> => {
  const answers = new Map<number, WindowCount>()
  for (let left = calls.map((_, i) => i); left.length > 0; left = left.filter((i) => !answers.has(i))) {
    const groups = groupsOf(calls, left)
    const of = (member: keyof Consumption) => groups.map((group) => group.of[member])
    const sizes = groups.map((group) => group.calls.length)
    const values = [of('bucket'), of('window'), of('n'), of('limit'), sizes, systemClock.now()]
    // what another statement of these has counted is not counted again
    const rows = byNumber(await persistently(() => ask(CONSUME, ...values)))
    for (const [g, group] of groups.entries()) {
      const dealt = deal(group, rows.get(g))
      for (const [i, call] of group.calls.entries()) answers.set(call, dealt[i] as WindowCount)
    }
  }
  return calls.map((_, i) => answers.get(i) as WindowCount)
}

export interface Light {
  claimKey(claim: IdempotencyClaim): Promise<IdempotencyState>
  releaseKey(claim: KeyCall): Promise<void>
  consume(bucket: string, window: number, n: number, limit: number): Promise<WindowCount>
  close(): Promise<void>
}

export const LIGHT_VERBS = ['claimKey', 'releaseKey', 'consume'] as const
export type LightVerbs = Pick<Light, (typeof LIGHT_VERBS)[number]>

export const createLight = (open: () => Promise<Connection>): Light => {
  const { inTurn, ready, close } = createOne(open)
  const ask: Ask = async (text, ...values) => answerRead(await ready(), all(text, ...values))
  const gathered = <Call, Answer>(run: (calls: readonly Call[]) => Promise<readonly Answer[]>) => {
    const call = gather({ run, inTurn, weigh: () => 1, most: MOST })
    return (one: Call): Promise<Answer> => persistently(() => call(one))
  }
  const claim = gathered((claims: readonly IdempotencyClaim[]) => claimAll(ask, claims))
  const release = gathered(async (calls: readonly KeyCall[]) => {
    const tokens = calls.map(({ token }) => token)
    await ask(RELEASE, ...keysOf(calls), tokens)
    return tokens
  })
  const consume = gathered((calls: readonly Consumption[]) => consumeAll(ask, calls))
  return {
    async claimKey(one) {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const found = await claim(one)
        if (found !== null) return found
      }
      return { state: 'in_progress' }
    },
    async releaseKey(call) {
      await release(call)
    },
    consume: (bucket, window, n, limit) => consume({ bucket, window, n, limit }),
    close,
  }
}

const USED = `FROM light, json_to_recordset(CAST(? AS JSON)) AS u (id text, at bigint, place text)
  WHERE light.s IS NOT NULL AND t.id = u.id`

const TEXTS: Readonly<Record<Touch[0], string>> = {
  key: `${LIGHT} UPDATE keys t SET last_used_at = u.at, last_used_from = u.place ${USED} AND coalesce(t.last_used_at, 0) <= u.at`,
  credential: `${LIGHT} UPDATE credentials t SET last_used_at = u.at, last_used_from = u.place ${USED} AND coalesce(t.last_used_at, 0) <= u.at`,
  session: `${LIGHT} UPDATE sessions t SET last_seen_at = u.at ${USED} AND t.last_seen_at < u.at`,
}

export function* touchAll(touched: readonly Touch[]): Asking<void> {
  for (const kind of ['key', 'credential', 'session'] as const) {
    const used = touched
      .filter(([of]) => of === kind)
      .map(([, id, at, place]) => ({ id, at, place }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    if (used.length > 0) yield* run(TEXTS[kind], JSON.stringify(used))
  }
}
