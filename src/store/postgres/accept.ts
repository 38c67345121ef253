/**
 * NAME      accept - a mail is stored: one statement for most mails, several for the rest
 *   Acceptances that came while the writer was busy go together in one statement. They travel as JSON, and their
 *   bodies as one run of octets that the database cuts. The statement begins with the fence of its writer, and
 *   everything in it reads from that. Which acceptances were decided by other rules than those of its snapshot is next:
 *   they add no rows. So it is with one whose lock is gone when its idempotent answer is written. A
 *   workspace or a pool that is missing is a NULL in a column that allows none, and the batch fails.
 *   A recipient is born leased when the relay of this process has room and no hold or suppression is about it: that
 *   saves the claim (three statements and a commit). It goes to the relay with its octets after the commit; all others
 *   are due, for any daemon. Only the relay settles or frees such a lease. When the relay is gone before it heard of
 *   one, the daemon that takes over its writer frees it (heartbeat.ts).
 *   The DSN of a mail is accepted in a transaction of its own, in which it stops being owed. A writer remembers which
 *   days and submitters it has stored: all writers share these rows and would wait for one another.
 */

import { Fault } from '../../base/fault.js'
import { FIRST_LEASE_MS, firstCounts, firstState, firstStatus } from '../../lifecycle/accept.js'
import type {
  Acceptance,
  AcceptResult,
  Claimed,
  NewEmail,
  NewRecipient,
  SentDsn,
} from '../../lifecycle/facts.js'
import { dsnActionOf, isTold, toldKey } from '../../lifecycle/pending-dsn.js'
import { entryDetail } from '../../lifecycle/suppress.js'
import { aggregate } from '../../mail/status.js'
import { firstClaimed } from '../sql/claimed.js'
import { flagsOf, kindOf, NO_NUMBERS, NOTHING, packMore, plainEvent } from '../sql/log/events.js'
import { BROUGHT, createHotSet, packLists, shortAddress, typeOfBrought } from '../sql/mails.js'
import { type Day, dayOf, timeOf } from '../sql/pages.js'
import { type Asking, all, first, type Row, run, type SqlQuery } from '../sql/query.js'
import type { Places } from '../sql/table.js'
import { failureOf } from './connection.js'
import type { Unheard } from './due.js'
import type { AddEventLater } from './events.js'
import { heldBy, MAY_BE_SUPPRESSED } from './lease.js'
import { type Lease, toLoaded } from './leased.js'
import type { Hints } from './notify.js'
import { gather, patience, persistently } from './run.js'
import type { PostgresWriter } from './writer.js'

/** Up to a power of two, and a second at least, so that a drifting clock does not write at every mail. */
const roundUp = (ms: number): number => (ms <= 0 ? 0 : 2 ** Math.max(10, Math.ceil(Math.log2(ms))))

interface Placed {
  readonly ord: number
  readonly created_at: number
}

export const createDays = () => {
  let known: Day | null = null
  return {
    /** What of these mails is not stored yet. */
    beyond(mails: readonly Placed[]): readonly Day[] {
      const days = new Map<number, Day>()
      for (const { ord, created_at } of mails) {
        const day = dayOf(ord)
        const old = days.get(day) ?? (known?.day === day ? known : { day, behind: -1, ahead: -1 })
        const behind = timeOf(ord) - created_at
        if (behind <= old.behind && -behind <= old.ahead) continue
        days.set(day, {
          day,
          behind: Math.max(old.behind, roundUp(behind)),
          ahead: Math.max(old.ahead, roundUp(-behind)),
        })
      }
      return [...days.values()]
    },
    forget(): void {
      known = null
    },
    /** They are stored. */
    keep(days: readonly Day[]): void {
      known = days.at(-1) ?? known
    },
  }
}

const OWED = 'FROM owed_dsns WHERE email_id = ? AND action = ? AND recipient_id = ANY (CAST(? AS TEXT[]))'

/** False when not all of it was owed any more; nothing has changed then. */
const dsnIsSent = (addEvent: AddEventLater) =>
  function* ({ emailId, action, recipientIds }: SentDsn, dsnId: string, now: number): Asking<boolean> {
    const which = [emailId, action, recipientIds]
    const owed = yield* all(`SELECT recipient_id ${OWED} ORDER BY recipient_id FOR UPDATE`, ...which)
    if (owed.length < recipientIds.length) return false
    yield* run(`DELETE ${OWED}`, ...which)
    for (const recipientId of recipientIds)
      yield* addEvent({
        ...plainEvent(emailId, recipientId, 'sender_notified', 'system', now),
        change: false,
        dedupe: toldKey(recipientId, action),
        more: { ...NOTHING, detail: { action, dsn: dsnId } },
      })
    return true
  }

/** What a batch offers. */
interface Offer {
  /** Of the relay's writer; null: nobody takes any. */
  readonly boot: number | null
  readonly now: number
  readonly ids: ReadonlySet<string>
}

/** When its leases end. */
const untilOf = (now: number): number => now + FIRST_LEASE_MS

interface Place {
  /** What its workspace wants done with mail that may have been taken. */
  readonly ambiguous: 'retry' | 'hold'
  /** Of the mail. */
  readonly ord: number
  /** By its number. */
  readonly workspace: number
}

/** What was leased of an offer, by recipient. */
type Taken = ReadonlyMap<string, Place>

/** When the answer was lost. */
const TAKEN = `SELECT json_agg(json_build_array(q.recipient_id, w.ambiguous, q.email_ord, q.workspace)) AS taken
  FROM queue q JOIN workspaces w ON w.n = q.workspace
  WHERE q.recipient_id = ANY (CAST(? AS TEXT[])) AND q.boot = ? AND q.attempting IS NULL`

function* takenNow({ ids, boot }: Offer): Asking<Taken> {
  return takenOf(ids.size === 0 ? [] : yield* all(TAKEN, [...ids], boot))
}

type TakenRow = readonly [id: string, ambiguous: Place['ambiguous'], ord: number, workspace: number]

const takenOf = (rows: readonly Row[]): Taken => {
  const those = rows.flatMap(({ taken }) => (taken ?? []) as readonly TakenRow[])
  return new Map(those.map(([id, ambiguous, ord, workspace]) => [id, { ambiguous, ord, workspace }]))
}

type Pooled = Pick<NewRecipient, 'poolId'>

const poolOf = (mail: NewEmail, recipient: Pooled): string => recipient.poolId ?? mail.poolId

/** Of mail to one: more needs a look in any case. */
const loadedOf = ({ mailFrom, recipients }: NewEmail, claimed: Claimed, place: Place, boot: number) => {
  const mail = { email_ord: place.ord, workspace_n: place.workspace, mail_from: mailFrom ?? null }
  const status = { status: 'queued', email_status: 'queued', total: recipients.length }
  const rest = { notify: claimed.dsn?.notify ?? null, queued_at: claimed.queuedAt }
  const nothing = { deadline: null, last_response: null, reason: null }
  return toLoaded({ ...mail, ...status, ...rest, ...nothing }, claimed, boot)
}

/** Each recipient that is taken, with bytes of its own buffer: one for all of them, which goes along. */
const leasesIn = (batch: readonly Acceptance[], taken: Taken, boot: number): readonly Lease[] => {
  const mails = batch.flatMap(({ mails, now }) => mails.map((mail) => ({ mail, now })))
  const hot = mails.filter(({ mail }) => mail.recipients.some(({ id }) => taken.has(id)))
  const octets = new Uint8Array(hot.reduce((sum, { mail }) => sum + mail.raw.byteLength, 0))
  let at = 0
  return hot.flatMap(({ mail, now }) => {
    octets.set(mail.raw, at)
    const raw = octets.subarray(at, at + mail.raw.byteLength)
    at += mail.raw.byteLength
    return mail.recipients.flatMap((recipient) => {
      const place = taken.get(recipient.id)
      if (place === undefined) return []
      const { ambiguous } = place
      const { id, address, dsn } = recipient
      const one = { id, address, dsn, poolId: poolOf(mail, recipient) }
      const claimed = firstClaimed(mail, one, { size: raw.byteLength, raw, queuedAt: now, ambiguous })
      return [{ claimed, loaded: loadedOf(mail, claimed, place, boot) }]
    })
  })
}

/** The pools of what is due now. */
const duePools = (batch: readonly Acceptance[], taken: Taken): readonly string[] => {
  const pools = new Set<string>()
  for (const { mails } of batch)
    for (const mail of mails)
      for (const recipient of mail.recipients)
        if (!taken.has(recipient.id)) pools.add(poolOf(mail, recipient))
  return [...pools]
}

const createHot = (hints: Hints, unheard: Unheard) => {
  const set = createHotSet(hints.room)
  hints.onTaker((boot) => {
    set.clear()
    set.open = boot !== null
  })
  const leave = (ids: Iterable<string>): void => {
    for (const id of ids) set.drop(id)
  }
  hints.onSettled((settled) => leave(settled.map(({ recipientId }) => recipientId)))
  hints.onLeft(leave)

  const fits = (mail: NewEmail, recipient: NewRecipient): boolean =>
    firstStatus(recipient, mail.scheduledAt) === 'queued' &&
    set.admit(recipient.id, poolOf(mail, recipient), mail.workspaceId, mail.raw.byteLength)

  return {
    offer(batch: readonly Acceptance[]): Offer {
      const boot = hints.taker()
      const mails = boot === null ? [] : batch.flatMap((one) => one.mails)
      const ids = mails.flatMap((mail) =>
        mail.recipients.filter((one) => fits(mail, one)).map(({ id }) => id),
      )
      return { boot, now: batch[0]?.now ?? 0, ids: new Set(ids) }
    },
    /** It is stored: whoever carries it hears of it. */
    stored(batch: readonly Acceptance[], { ids, boot }: Offer, taken: Taken): void {
      leave([...ids].filter((id) => !taken.has(id)))
      if (boot !== null && taken.size > 0) hints.leased(leasesIn(batch, taken, boot))
      const pools = duePools(batch, taken)
      if (pools.some(hints.wants)) hints.due()
      // what this one has no room for is for others, too
      const others = boot === null ? pools.filter((poolId) => !hints.wants(poolId)) : pools
      if (others.length > 0) hints.elsewhere({ topic: 'due', poolIds: others })
    },
    /** Or not, as far as is known here. */
    failed({ ids, boot, now }: Offer, isKnown: boolean): void {
      leave(ids)
      if (!isKnown && boot !== null && ids.size > 0) unheard.free(boot, untilOf(now), now)
    },
  }
}

const TYPED = BROUGHT.names.map((name) => `${name} ${typeOfBrought(name)}`).join(', ')

const ACCEPT = `
given AS (
  SELECT g.* FROM fence, json_to_recordset(CAST(? AS JSON))
    AS g (i int, workspace text, test smallint, key text, token text, status int, body text, rules bigint, now bigint)
  WHERE CASE WHEN g.rules IS NULL OR g.rules = (SELECT n FROM rules) THEN true ELSE false END),
answered AS (
  UPDATE idempotency d SET status = g.status, body = g.body, completed_at = g.now
  FROM (SELECT g.*, w.n FROM given g JOIN workspaces w ON w.id = g.workspace OFFSET 0) g
  WHERE d.workspace = ANY (ARRAY[g.n]) AND d.test = ANY (ARRAY[g.test]) AND d.key = ANY (ARRAY[g.key])
    AND d.token = ANY (ARRAY[g.token]) AND d.completed_at IS NULL
  RETURNING g.i),
free AS (SELECT i, now FROM given WHERE key IS NULL OR i IN (SELECT i FROM answered)),
mails AS MATERIALIZED (
  SELECT m.*, f.now, w.n AS workspace_n, p.n AS pool_n, w.sender_dsn
  FROM free f JOIN json_to_recordset(CAST(? AS JSON)) AS m (i int, ord bigint, id text, workspace text, pool text,
    test smallint, status text, total int, scheduled int, queued int, bounced int, created_at bigint, scheduled_at bigint,
    at int, size int, lists text, content text, submitter bigint, ${TYPED}) ON m.i = f.i
  LEFT JOIN workspaces w ON w.id = m.workspace LEFT JOIN pools p ON p.id = m.pool),
stored_bodies AS (
  INSERT INTO bodies (n, email_id, created_at, content, raw)
  SELECT ord, id, created_at, content, substring(CAST(? AS BYTEA) FROM at + 1 FOR size) FROM mails),
stored_mails AS (
  INSERT INTO emails (ord, id, workspace, test, status, total, scheduled, queued, bounced, created_at, updated_at,
    scheduled_at, pool, body, size, lists, submitter, ${BROUGHT.names.join(', ')})
  SELECT ord, id, workspace_n, test, status, total, scheduled, queued, bounced, created_at, created_at, scheduled_at,
    pool_n, ord, size, lists, submitter, ${BROUGHT.names.join(', ')} FROM mails),
stored_tags AS (
  INSERT INTO tags (workspace, name, value, email_ord)
  SELECT m.workspace_n, t.name, t.value, m.ord
  FROM mails m JOIN json_to_recordset(CAST(? AS JSON)) AS t (ord bigint, name text, value text) ON t.ord = m.ord
  ON CONFLICT DO NOTHING),
people AS MATERIALIZED (
  SELECT r.*, m.i, m.id AS email, m.workspace_n, p.n AS pool_n, m.created_at, m.now, m.test, m.sender_dsn
  FROM mails m JOIN json_to_recordset(CAST(? AS JSON)) AS r (ord bigint, id text, pool text, kind text, status text,
    due_at bigint, written text, address_lc text, notify text, orcpt text, reason text, first int, event bigint,
    event_kind int, flags int, more text, dsn text, hot int) ON r.ord = m.ord
  LEFT JOIN pools p ON p.id = r.pool),
taker AS MATERIALIZED (SELECT boot FROM writers WHERE boot = CAST(? AS BIGINT)),
taken AS MATERIALIZED (
  SELECT r.id, r.i, r.ord, r.workspace_n, w.ambiguous, b.boot, CAST(? AS BIGINT) AS lease_until
  FROM taker b CROSS JOIN people r JOIN workspaces w ON w.n = r.workspace_n
  WHERE r.hot = 1 AND NOT ${heldBy('r.pool', 'r.email')} AND NOT ${MAY_BE_SUPPRESSED}),
stored_people AS (
  INSERT INTO recipient_rows (id, email_ord, workspace, pool, kind, status, updated_at, queued_at, written, address_lc,
    notify, orcpt, reason, first)
  SELECT id, ord, workspace_n, pool_n, kind, status, created_at, now, written, address_lc, notify, orcpt, reason, first
  FROM people),
waiting AS (
  INSERT INTO queue (recipient_id, email_ord, workspace, pool, gen, due_at, boot, lease_until)
  SELECT r.id, r.ord, r.workspace_n, r.pool_n, CASE WHEN t.boot IS NULL THEN 0 ELSE 1 END,
    CASE WHEN t.boot IS NULL THEN r.due_at END, t.boot, t.lease_until
  FROM people r LEFT JOIN taken t ON t.id = r.id WHERE r.due_at IS NOT NULL),
told AS (
  INSERT INTO events (ord, email, scope, kind, flags, recipient, occurred_at, late, reason, more)
  SELECT event, ord, workspace_n * 2 + test, event_kind, flags, id, now, 0, reason, more FROM people WHERE event IS NOT NULL),
owed AS (
  INSERT INTO owed_dsns (email_id, action, recipient_id, event_ord, at)
  SELECT email, dsn, id, event, now FROM people WHERE dsn IS NOT NULL AND sender_dsn = 1),
held AS (
  SELECT r.i, r.id FROM people r JOIN workspaces w ON w.n = r.workspace_n
  WHERE r.status = 'queued' AND ${heldBy('r.pool', 'r.email')}),
noted AS (
  INSERT INTO email_days AS d (day, behind, ahead)
  SELECT n.day, n.behind, n.ahead
  FROM fence, json_to_recordset(CAST(? AS JSON)) AS n (day bigint, behind bigint, ahead bigint) ORDER BY n.day
  ON CONFLICT (day) DO UPDATE SET behind = greatest(d.behind, excluded.behind), ahead = greatest(d.ahead, excluded.ahead))
SELECT (SELECT n FROM rules) AS rules, f.i, (SELECT json_agg(h.id) FROM held h WHERE h.i = f.i) AS held,
  (SELECT json_agg(json_build_array(t.id, t.ambiguous, t.ord, t.workspace_n)) FROM taken t WHERE t.i = f.i) AS taken FROM fence LEFT JOIN free f ON true`

const given = ({ idempotency: answer, rules, now }: Acceptance, i: number) => ({
  ...{ i, rules, now, workspace: answer?.workspaceId, test: answer?.mode === 'test' ? 1 : 0 },
  ...{ key: answer?.key, token: answer?.token, status: answer?.status, body: answer?.body },
})

const textOf = (content: NewEmail['content']): string | null =>
  content === null || typeof content === 'string' ? content : Buffer.from(content).toString('utf8')

type SubmitterOf = (id: string | null | undefined) => number | null

const mailOf = (mail: NewEmail, i: number, ord: number, at: number, submitterOf: SubmitterOf) => {
  const { scheduled, queued, bounced, ...others } = firstCounts(mail.recipients, mail.scheduledAt)
  return {
    ...{ i, ord, at, id: mail.id, workspace: mail.workspaceId, pool: mail.poolId },
    ...{ test: mail.mode === 'test' ? 1 : 0, size: mail.raw.byteLength, total: mail.recipients.length },
    ...{ status: aggregate({ scheduled, queued, bounced, ...others }), scheduled, queued, bounced },
    ...{ created_at: mail.createdAt, scheduled_at: mail.scheduledAt, lists: packLists(mail) },
    ...{ content: textOf(mail.content), submitter: submitterOf(mail.submittedBy) },
    ...BROUGHT.unpack(BROUGHT.pack(mail)),
  }
}

/** What the DSN would say that tells the sender, if the workspace wants that. */
const dsnOf = ({ mailFrom = null }: NewEmail, { dsn }: NewRecipient, at: number): string | null => {
  const change = { seen: 'suppressed', at, detail: null } as const
  const action = dsnActionOf(change)
  const submitted = { mailFrom, notify: dsn?.notify ?? null, queuedAt: at, senderDsn: true }
  return action !== null && isTold(action, change, submitted) ? action : null
}

const personOf = (
  mail: NewEmail,
  recipient: NewRecipient,
  number: number,
  now: number,
  ord: number,
  places: Places,
  { ids }: Offer,
) => {
  const status = firstStatus(recipient, mail.scheduledAt)
  const { dueAt, reason } = firstState(status, mail.scheduledAt ?? now, null)
  const { id, suppressed, dsn } = recipient
  return {
    ...{ ord, id, pool: recipient.poolId ?? mail.poolId, kind: recipient.kind, status, reason },
    ...{ due_at: dueAt, ...shortAddress(recipient.address), notify: dsn?.notify, orcpt: dsn?.orcpt },
    ...(suppressed
      ? {
          first: 0,
          event: places.next(),
          event_kind: kindOf(`email.${status}`),
          flags: flagsOf('system', true, true),
          more: packMore({ ...NOTHING, detail: entryDetail(recipient.entry) }, NO_NUMBERS),
          dsn: dsnOf(mail, recipient, now),
        }
      : { first: number, hot: ids.has(id) ? 1 : undefined }),
  }
}

type Mail = ReturnType<typeof mailOf>

/** What follows the fence. Answers with a row for each that is stored, and who of it is to be held. */
const acceptQuery = (
  batch: readonly Acceptance[],
  places: Places,
  daysOf: (mails: readonly Mail[]) => readonly Day[],
  submitterOf: SubmitterOf,
  offer: Offer,
): SqlQuery => {
  const mails: Mail[] = []
  const people: ReturnType<typeof personOf>[] = []
  const tags: { readonly ord: number; readonly name: string; readonly value: string }[] = []
  const octets: Uint8Array[] = []
  let at = 0
  for (const [i, acceptance] of batch.entries()) {
    for (const mail of acceptance.mails) {
      const ord = places.next()
      mails.push(mailOf(mail, i, ord, at, submitterOf))
      octets.push(mail.raw)
      at += mail.raw.byteLength
      for (const { name, value } of mail.tags) tags.push({ ord, name, value })
      for (const [n, recipient] of mail.recipients.entries())
        people.push(personOf(mail, recipient, n + 1, acceptance.now, ord, places, offer))
    }
  }
  return {
    text: ACCEPT,
    values: [
      JSON.stringify(batch.map(given)),
      JSON.stringify(mails),
      Buffer.concat(octets),
      JSON.stringify(tags),
      JSON.stringify(people),
      offer.boot,
      untilOf(offer.now),
      JSON.stringify(daysOf(mails)),
    ],
  }
}

function* known(id: string): Asking<number | null> {
  return ((yield* first('SELECT n FROM submitters WHERE id = ?', id))?.n ?? null) as number | null
}

/** The number of one, which gets it here if need be. */
const submitterNumber = (places: Places) =>
  function* (id: string): Asking<number> {
    const found = yield* known(id)
    if (found !== null) return found
    yield* run('INSERT INTO submitters (n, id) VALUES (?, ?) ON CONFLICT DO NOTHING', places.next(), id)
    return Number(yield* known(id))
  }

/** For a writer whose turn it is. */
const createSubmitters = ({ places, look }: Pick<PostgresWriter, 'places' | 'look'>) => {
  const numbers = new Map<string, number>()
  const numberOf = submitterNumber(places)
  return {
    async note(batch: readonly Acceptance[], until: number): Promise<void> {
      for (const { mails } of batch)
        for (const { submittedBy: id } of mails)
          if (id != null && !numbers.has(id))
            numbers.set(id, await persistently(() => look(numberOf(id)), until))
    },
    forget: (): void => numbers.clear(),
    /** Of one that was noted. */
    of: (id: string | null | undefined): number | null => (id == null ? null : (numbers.get(id) ?? null)),
  }
}

/** Octets of a batch; a larger mail travels alone. */
const MOST = 4 * 1024 * 1024
/** At most 256 mails go together. */
const LEAST = MOST / 256

/** Its mails are there when it was stored, whoever's answer was lost. */
const STORED =
  'SELECT id FROM emails JOIN json_array_elements_text(CAST(? AS JSON)) AS wanted (id) USING (id)'

interface AcceptParts {
  readonly addEvent: AddEventLater
  /** Puts to rest what somebody holds. */
  readonly hold: (recipientIds: readonly string[], now: number) => Asking<void>
  readonly unheard: Unheard
}

interface Answer {
  readonly result: AcceptResult
  /** Recipients that somebody holds. */
  readonly held: readonly string[]
}

const answersOf = (batch: readonly Acceptance[], rows: readonly Row[]): readonly Answer[] => {
  const stored = new Map(rows.map(({ i, id, held }) => [i ?? id, (held ?? []) as readonly string[]]))
  return batch.map(({ mails: [first], rules }, i) => {
    const held = stored.get(i) ?? stored.get(first?.id)
    if (held !== undefined) return { result: 'accepted', held }
    // where the answer was lost, too: by another try it is found out
    const isStale = rules != null && rules !== rows[0]?.rules
    return { result: isStale ? 'stale' : 'lock_lost', held: [] }
  })
}

const weigh = ({ mails }: Acceptance): number =>
  mails.reduce((sum, { raw }) => sum + Math.max(raw.byteLength, LEAST), 0)

const NO_OFFER: Offer = { boot: null, now: 0, ids: new Set() }

/** The statement of a batch, and what is remembered once it is stored. */
const createBatch = ({ places, look, onPutBack }: PostgresWriter) => {
  const known = createDays()
  const submitters = createSubmitters({ places, look })
  onPutBack(known.forget)
  onPutBack(submitters.forget)
  return {
    note: submitters.note,
    of(batch: readonly Acceptance[], offer: Offer = NO_OFFER) {
      let days: readonly Day[] = []
      const noting = (mails: readonly Mail[]): readonly Day[] => {
        days = known.beyond(mails)
        return days
      }
      return {
        query: () => acceptQuery(batch, places, noting, submitters.of, offer),
        keep: () => known.keep(days),
      }
    },
  }
}

export const createAccept = (writer: PostgresWriter, { addEvent, hold, unheard }: AcceptParts) => {
  const { hints, statement, look, inTurn, mail } = writer
  const batches = createBatch(writer)
  const isSent = dsnIsSent(addEvent)
  const hot = createHot(hints, unheard)

  const run = async (batch: readonly Acceptance[], until: number): Promise<readonly Answer[]> => {
    await batches.note(batch, until)
    const offer = hot.offer(batch)
    try {
      const { query, keep } = batches.of(batch, offer)
      const rows = await statement('accept', query, until, batch.length)
      keep()
      const ids = batch.map(({ mails: [first] }) => first?.id)
      const found = rows ?? (await persistently(() => look(all(STORED, JSON.stringify(ids)))))
      const taken = rows === null ? await persistently(() => look(takenNow(offer))) : takenOf(rows)
      hot.stored(batch, offer, taken)
      return answersOf(batch, found)
    } catch (error) {
      hot.failed(offer, !(error instanceof Fault) && failureOf(error) === 'verb')
      throw error
    }
  }
  const gathered = gather({ run, inTurn, weigh, most: MOST })

  const acceptDsn = async (acceptance: Acceptance, sent: NonNullable<Acceptance['dsn']>): Promise<Answer> => {
    await inTurn(() => batches.note([acceptance], patience()))
    const { query, keep } = batches.of([acceptance])
    function* verb(): Asking<Answer> {
      const lost: Answer = { result: 'lock_lost', held: [] }
      if (!(yield* isSent(sent, acceptance.mails[0]?.id ?? '', acceptance.now))) return lost
      const { text, values } = query()
      const rows = yield* all(`WITH fence AS (SELECT 1 AS n),${text}`, ...values)
      writer.effects.due = true
      return answersOf([acceptance], rows)[0] ?? lost
    }
    const answer = await mail(verb)
    keep()
    return answer
  }

  return async (acceptance: Acceptance): Promise<AcceptResult> => {
    const { dsn, now } = acceptance
    const { result, held } = dsn == null ? await gathered(acceptance) : await acceptDsn(acceptance, dsn)
    if (held.length > 0) await mail(() => hold(held, now))
    return result
  }
}
