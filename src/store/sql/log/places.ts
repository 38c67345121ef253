/**
 * NAME      log/places - the records of the log: where they stand, what they are named, what they tell
 *   The log is merged from two kinds of sources: stored events, each at a place of
 *   its own, and first events, which stand at the place of their mail in the order
 *   of their recipients' numbers. So a place is two numbers, and a mark is the place
 *   right above it: all lower ones are older. Where several writers fill the log, newer pages end below what is on its
 *   way, and older ones do not: the mark for what is newer than such a page also says what it has shown
 *   (sql/pages.ts), `<place>_<n>_<seen>`.
 */

import { hash } from 'node:crypto'
import { fromBase32, toBase32 } from '../../../base/id.js'
import type { EventRow } from '../../../lifecycle/facts.js'
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { LogRow, MailOfEvent } from '../../port/log.js'
import { BESIDE_LISTS, type MailTables, readLists, SUBMITTED_BY } from '../mails.js'
import { type Range, readSeen, type SeenRows, seenMark, seenNow, TOP, unseen } from '../pages.js'
import { type Asking, all, first, Memory, type Row, several } from '../query.js'
import { type More, readFlags, typeOf, UnpackMore } from './events.js'

export interface LogPlace {
  readonly ord: number
  /** The number of a recipient in its mail; 0 of a stored event. */
  readonly n: number
}

/** A place to go on from. */
export interface Mark extends LogPlace {
  readonly shown?: Shown | undefined
}

/** What was shown or stands behind it, though it is newer; of the mail right above it, the numbers below `n` as well. */
interface Shown {
  readonly seen: SeenRows
  readonly n: number
}

/** A place, with the row that was found there. */
export interface PlacedRow extends LogPlace {
  readonly row: Row
}

type Direction = Page['direction']

/** Where some of the records are found. */
export interface PlaceSource {
  /** The nearest of them on one side of a boundary, the nearest first; of newer ones none beyond `last`. */
  take(direction: Direction, boundary: Mark, limit: number, last?: number): Asking<readonly PlacedRow[]>
  count(limit: number): Asking<number>
}

const MARK = /^(\d{1,16})(?:\.(\d{1,6}))?(?:_(\d{1,6})_(\d.*))?$/

export const markOf = ({ ord, n, shown }: Mark): string =>
  `${ord}${n === 0 ? '' : `.${n}`}${shown === undefined ? '' : `_${shown.n}_${seenMark(shown.seen)}`}`

/** Null: no mark of the log. */
export const readMark = (text: string): Mark | null => {
  const found = MARK.exec(text)
  if (found === null) return null
  const place = { ord: Number(found[1]), n: Number(found[2] ?? 0) }
  if (found[4] === undefined) return place
  const seen = readSeen(found[4])
  return seen && { ...place, shown: { seen, n: Number(found[3]) } }
}

export const compare = (a: LogPlace, b: LogPlace): number => a.ord - b.ord || a.n - b.n

/** The lowest boundary that has this place below it. */
export const above = ({ ord, n }: LogPlace): LogPlace => ({ ord, n: n + 1 })

export const BOTTOM: LogPlace = { ord: 0, n: 0 }
const HIGHEST: LogPlace = { ord: TOP, n: 0 }

interface Wanted {
  readonly direction: Direction
  readonly boundary: Mark
  readonly limit: number
  last: number | undefined
}

function* takeOne(source: PlaceSource, wanted: Wanted): Asking<readonly PlacedRow[]> {
  const { direction, boundary, limit, last } = wanted
  const some = yield* source.take(direction, boundary, limit, last)
  // where one source fills the page, no later place of another one is on it
  if (direction === 'newer' && some.length >= limit) wanted.last = some.at(-1)?.ord
  return some
}

/** The nearest of all sources; of newer ones none beyond `end`. */
export function* takeFrom(
  sources: readonly PlaceSource[],
  direction: Direction,
  boundary: Mark,
  limit: number,
  end?: number,
): Asking<PlacedRow[]> {
  const wanted: Wanted = { direction, boundary, limit, last: end }
  const found = (yield* several(sources.map((source) => () => takeOne(source, wanted)))).flat()
  const sign = direction === 'older' ? -1 : 1
  return found.sort((a, b) => sign * compare(a, b)).slice(0, limit)
}

function* countUpTo(sources: readonly PlaceSource[], most: number): Asking<number> {
  let total = 0
  for (const source of sources) {
    if (total >= most) break
    total += yield* source.count(most - total)
  }
  return total
}

function* isAny(sources: readonly PlaceSource[], side: Direction, from: LogPlace): Asking<boolean> {
  return (yield* takeFrom(sources, side, from, 1)).length > 0
}

export const lower = (a: LogPlace, b: LogPlace): LogPlace => (compare(a, b) < 0 ? a : b)

/** How far the log is: nothing comes in below `end`. */
export interface Reach {
  readonly end: LogPlace
  readonly frontiers: MailTables['frontiers']
}

/** Where what is newer than a page begins that was read back from right below `top`; null: from the very top. */
function* afterOlder(top: LogPlace | null, { end, frontiers }: Reach): Asking<Mark> {
  if (top !== null && compare(top, end) <= 0) return top
  if (frontiers === null) return end
  const n = top?.n ?? 0
  const seen = seenNow({ upTo: 0, behind: [] }, yield* frontiers(), top === null ? TOP : top.ord - 1)
  return seen.behind.length === 0 && n === 0 ? end : { ...end, shown: { seen, n } }
}

/** Beyond all that was shown a mark is a place and nothing else. */
const goingOn = (place: LogPlace, shown: Shown | undefined): Mark =>
  shown === undefined || place.ord > shown.seen.upTo + 1 ? place : { ...place, shown }

/**
 * A page of places, newest first; `anchor` is what the page's anchor means. Newer pages go no further than the end: what is
 * told beyond it would be told again.
 */
export function* pageOfPlaces(
  sources: readonly PlaceSource[],
  page: Page,
  anchor: Mark | null,
  reach: Reach,
): Asking<Rows<PlacedRow>> {
  const { direction } = page
  const { end } = reach
  const boundary: Mark = anchor ?? (direction === 'older' ? HIGHEST : BOTTOM)
  const last = direction === 'newer' ? end.ord - 1 : undefined
  const found = yield* takeFrom(sources, direction, boundary, page.limit + 1, last)
  const more = found.length > page.limit
  const rows = found.slice(0, page.limit)
  if (direction === 'newer') rows.reverse()
  const older = rows.at(-1) ?? (anchor === null ? BOTTOM : boundary)
  const newer = rows[0] === undefined ? older : above(rows[0])
  return {
    rows,
    hasOlder: direction === 'older' ? more : yield* isAny(sources, 'older', older),
    hasNewer: direction === 'newer' ? more : anchor !== null && (yield* isAny(sources, 'newer', newer)),
    older: markOf({ ord: older.ord, n: older.n }),
    newer: markOf(
      direction === 'older'
        ? yield* afterOlder(anchor === null ? null : newer, reach)
        : goingOn(lower(newer, end), boundary.shown),
    ),
    total: page.countUpTo > 0 ? yield* countUpTo(sources, page.countUpTo) : null,
  }
}

// Where the records of a log are found. Each source is one index range: stored events of one scope and type, of one
// mail or of one address, and first events of the mails of one workspace. A page costs a few seeks for each, whatever
// lies between.

/** SQL after FROM, with its values. */
export interface SqlPart {
  readonly from: string
  readonly where: readonly string[]
  readonly params: readonly unknown[]
}

const EVERYWHERE: readonly Range[] = [{ from: 0, to: TOP }]

/** What a kind of source reads: its order, and the columns that its records are made of. */
interface Columns {
  readonly ord: string
  /** null: always 0. */
  readonly n: string | null
  readonly rest: string
  /** Joined to what is found, for columns that no condition needs. */
  readonly join: string
}

/** The address comes from the recipient's row, so that no event holds a copy of it. */
const STORED: Columns = {
  ord: 'v.ord',
  n: null,
  rest: 'v.email, v.scope, v.kind, v.flags, v.recipient, v.occurred_at, v.late, v.attempt, v.reason, v.more, v.id, a.address, a.first',
  join: ' LEFT JOIN recipients a ON a.id = v.recipient',
}
const FIRST: Columns = { ord: 'e.ord', n: 'r.first', rest: 'r.id AS recipient, r.address', join: '' }

const toFound = (row: Row): PlacedRow => ({ ord: row.ord as number, n: row.n as number, row })

interface Condition {
  readonly text: string
  readonly params: readonly unknown[]
}

const unshown = (ord: string, number: string, { seen, n }: Shown): Condition => {
  const others = unseen(seen, ord)
  return {
    text: `${others === null ? '' : ` AND ${others.where}`} AND (${ord} <> ? OR ${number} >= ?)`,
    params: [...(others?.params ?? []), seen.upTo + 1, n],
  }
}

/** One index range in pieces, with its texts. */
interface Reading {
  readonly params: readonly unknown[]
  readonly ranges: readonly Range[]
  readonly older: string
  /** Up to where what was shown is left out, and in which order it then comes. */
  readonly newer: string
  readonly rising: string
  unshown(shown: Shown): Condition
  readonly counted: string
}

function* take(
  { params, ranges, older, newer, rising, unshown }: Reading,
  isOlder: boolean,
  boundary: Mark,
  limit: number,
  last: number,
): Asking<readonly PlacedRow[]> {
  const found: PlacedRow[] = []
  const more = isOlder || boundary.shown === undefined ? null : unshown(boundary.shown)
  const text = isOlder ? older : `${newer}${more?.text ?? ''} ${rising}`
  for (const range of isOlder ? [...ranges].reverse() : ranges) {
    if (found.length >= limit) break
    // only in the mail of the boundary itself do the numbers part what is older from what is newer
    const low = isOlder ? range.from : Math.max(range.from, boundary.ord)
    const high = Math.min(range.to, (isOlder ? boundary.ord : last) + 1)
    if (low >= high) continue
    const bounds = [low, high, boundary.ord, boundary.n, ...(more?.params ?? []), limit - found.length]
    for (const row of yield* all(text, ...params, ...bounds)) found.push(toFound(row))
  }
  return found
}

function* count({ params, ranges, counted }: Reading, limit: number): Asking<number> {
  let total = 0
  for (const { from: low, to: high } of ranges) {
    if (total >= limit) break
    total += Number((yield* first(counted, ...params, low, high, limit - total))?.n)
  }
  return total
}

const sourceOf = (
  { from, where, params }: SqlPart,
  { ord, n, rest, join }: Columns,
  ranges: readonly Range[],
): PlaceSource => {
  const number = n ?? '0'
  const order = (way: string): string => `${ord} ${way}${n === null ? '' : `, ${n} ${way}`}`
  const conditions = [...where, `${ord} >= ? AND ${ord} < ?`].join(' AND ')
  const text = `SELECT ${ord} AS ord, ${number} AS n, ${rest} FROM ${from}${join} WHERE ${conditions}`
  const reading: Reading = {
    params,
    ranges,
    older: `${text} AND (${ord} < ? OR ${number} < ?) ORDER BY ${order('DESC')} LIMIT ? + 0`,
    newer: `${text} AND (${ord} > ? OR ${number} >= ?)`,
    rising: `ORDER BY ${order('ASC')} LIMIT ? + 0`,
    unshown: (shown) => unshown(ord, number, shown),
    counted: `SELECT count(*) AS n FROM (SELECT 1 AS one FROM ${from} WHERE ${conditions} LIMIT ? + 0) AS counted`,
  }
  return {
    take: (direction, boundary, limit, last = TOP) =>
      take(reading, direction === 'older', boundary, limit, last),
    count: (limit) => count(reading, limit),
  }
}

/** Stored events; `from` names their table `v`. */
export const storedSource = (part: SqlPart, ranges = EVERYWHERE): PlaceSource =>
  sourceOf(part, STORED, ranges)

/** All of them. */
export const STORED_EVENTS: PlaceSource = storedSource({ from: 'events v', where: [], params: [] })

const firstOf = (part: SqlPart, ranges: readonly Range[], columns: Columns): PlaceSource =>
  sourceOf({ ...part, where: [...part.where, 'r.first > 0'] }, columns, ranges)

/** First events; `from` names the mails `e` and their recipients `r`. */
export const firstSource = (part: SqlPart, ranges = EVERYWHERE): PlaceSource => firstOf(part, ranges, FIRST)

/** First events in the order of recipients: those of one address are in the order of their mails. */
export const addressedSource = (part: SqlPart, ranges = EVERYWHERE): PlaceSource =>
  firstOf(part, ranges, { ...FIRST, ord: 'r.email_ord' })

// The names of events, made when they are read. The id of a stored event holds its place and 64 bits of a hash; that
// of the first event of a recipient holds the recipient's id and 50 bits of a hash. So an event is found by its id
// without an index, and no id is stored but of events that came from elsewhere (another store, Postern 0.1). Only
// this file knows.

const LENGTH = 26
const RECIPIENT = 16

const hashOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/** `of`: the id of its mail, or of the account when it has none. */
export const storedId = (ord: number, of: string): string => {
  const bytes = Buffer.alloc(16)
  bytes.writeUInt32BE(Math.floor(ord / 2 ** 32), 0)
  bytes.writeUInt32BE(ord % 2 ** 32, 4)
  hashOf(`event ${ord} ${of}`).copy(bytes, 8, 0, 8)
  return `evt_${toBase32(bytes)}`
}

const firstId = (recipientId: string): string =>
  `evt_${recipientId}${toBase32(hashOf(`first event ${recipientId}`)).slice(1, 1 + LENGTH - RECIPIENT)}`

/** What an id may name: whoever finds it there makes its id and compares. */
export const namedBy = (id: string): { readonly ord: number; readonly recipientId: string } | null => {
  const text = id.slice(4)
  const bytes = id.startsWith('evt_') && text.length === LENGTH ? fromBase32(text) : null
  if (bytes === null) return null
  const ord = Number(Buffer.from(bytes).readBigUInt64BE())
  return { ord: Number.isSafeInteger(ord) ? ord : -1, recipientId: text.slice(0, RECIPIENT) }
}

/** Where the first event of a recipient stands. */
export function* placeOfFirst(
  recipientId: string,
): Asking<{ readonly ord: number; readonly n: number } | null> {
  const row = yield* first('SELECT email_ord, first FROM recipients WHERE id = ? AND first > 0', recipientId)
  return row === null ? null : { ord: row.email_ord as number, n: row.first as number }
}

// From a row of the log to what it tells. What belongs to one mail is read once for all of its records in a batch. A
// follower may read thousands of records a second, so each is written down field by field: copying objects into one
// another costs several times as much.

/** Whose a scope is; null when its workspace is deleted. */
interface Owner {
  readonly accountId: string
  readonly workspaceId: string
}

interface Mail {
  readonly told: MailOfEvent
  readonly workspace: number
  readonly test: boolean
  readonly source: EventRow['source']
  readonly isScheduled: boolean
}

const OF_MAIL = `e.id, e.workspace, e.test, e.source, e.scheduled_at, e.sender, e.subject, e.message_id, e.lists, e.created_at,
  p.id AS pool_id`
const MAIL = `SELECT ${OF_MAIL}, ${BESIDE_LISTS} FROM emails e JOIN pools p ON p.n = e.pool WHERE e.ord = ?`
/** Mails for know(), and for the index of words; a condition on `e` follows. */
export const MAILS_BY_PLACE = `SELECT e.ord, e.total, ${OF_MAIL}, ${SUBMITTED_BY} FROM emails e LEFT JOIN pools p ON p.n = e.pool`

function* readMail(ord: number): Asking<Mail | null> {
  const row = yield* first(MAIL, ord)
  return row === null ? null : toMail(row)
}

const toMail = (row: Row, only = row.only_address): Mail => {
  const { to, tags } = readLists({ lists: row.lists, only_address: only })
  return {
    told: {
      id: row.id as string,
      poolId: row.pool_id as string,
      from: row.sender as string,
      to,
      subject: row.subject as string,
      messageId: row.message_id as string,
      tags,
      createdAt: row.created_at as number,
      scheduledAt: row.scheduled_at as number | null,
    },
    workspace: row.workspace as number,
    test: row.test === 1,
    source: row.source as EventRow['source'],
    isScheduled: row.scheduled_at !== null,
  }
}

const toFirst = (mail: Mail, row: Row): EventRow => ({
  id: firstId(row.recipient as string),
  type: mail.isScheduled ? 'email.scheduled' : 'email.queued',
  emailId: mail.told.id,
  recipientId: row.recipient as string,
  recipient: row.address as string,
  source: mail.source,
  occurredAt: mail.told.createdAt,
  createdAt: mail.told.createdAt,
  attempt: null,
  change: true,
  applied: true,
  reason: null,
  reply: null,
  mta: null,
  detail: null,
})

const toStored = (mail: Mail, row: Row, more: More): EventRow => {
  const { source, applied, change } = readFlags(row.flags as number)
  const { reply, mta, detail } = more
  const occurredAt = row.occurred_at as number
  return {
    id: (row.id as string | null) ?? storedId(row.ord as number, mail.told.id),
    type: typeOf(row.kind),
    emailId: mail.told.id,
    recipientId: row.recipient as string | null,
    recipient: row.address as string | null,
    source,
    occurredAt,
    createdAt: occurredAt + (row.late as number),
    attempt: row.attempt as number | null,
    change,
    applied,
    reason: row.reason as string | null,
    reply,
    mta,
    detail,
  }
}

const toTold = (mail: Mail, owner: Owner, event: EventRow, found: PlacedRow): LogRow => ({
  id: event.id,
  type: event.type as LogRow['type'],
  mark: markOf(above(found)),
  accountId: owner.accountId,
  workspaceId: owner.workspaceId,
  mode: mail.test ? 'test' : 'live',
  emailId: event.emailId,
  recipientId: event.recipientId,
  recipient: event.recipient,
  source: event.source,
  occurredAt: event.occurredAt,
  createdAt: event.createdAt,
  attempt: event.attempt,
  change: event.change,
  begunHere: found.n > 0 || found.row.first !== 0,
  applied: event.applied,
  reason: event.reason,
  reply: event.reply,
  mta: event.mta,
  detail: event.detail,
  mail: mail.told,
  data: null,
})

const toNotice = (row: Row, owner: Owner | null, mark: string): LogRow => {
  const { account, data } = JSON.parse(row.more as string) as { account: string; data: LogRow['data'] }
  return {
    id: storedId(row.ord as number, account),
    type: typeOf(row.kind),
    mark,
    accountId: account,
    workspaceId: owner?.workspaceId ?? null,
    mode: (row.scope as number) % 2 === 1 ? 'test' : 'live',
    emailId: null,
    recipientId: null,
    recipient: null,
    occurredAt: row.occurred_at as number,
    createdAt: row.occurred_at as number,
    attempt: null,
    ...readFlags(row.flags as number),
    begunHere: true,
    reason: null,
    reply: null,
    mta: null,
    detail: null,
    mail: null,
    data,
  }
}

function* readOwner(workspace: number): Asking<Owner | null> {
  const row = yield* first(
    'SELECT id, account_id FROM workspaces WHERE n = ? AND deleted_at IS NULL',
    workspace,
  )
  return row === null ? null : { accountId: row.account_id as string, workspaceId: row.id as string }
}

/** Makes the records of one batch; to be forgotten with it. */
export class Records {
  readonly #unpack = new UnpackMore()
  readonly #mails = new Memory(readMail)
  readonly #owners = new Memory(readOwner)

  /** A mail that is read already, and its recipients. */
  know(row: Row, recipients: readonly Row[]): void {
    if (row.pool_id !== null) this.#mails.know(row.ord as number, toMail(row, recipients[0]?.address))
  }

  *#eventOf(mail: Mail, found: PlacedRow): Asking<EventRow> {
    if (found.n > 0) return toFirst(mail, found.row)
    return toStored(mail, found.row, yield* this.#unpack.more(found.row.more as string | null))
  }

  *#notice(found: PlacedRow): Asking<LogRow | null> {
    const workspace = Math.floor((found.row.scope as number) / 2)
    const owner = workspace === 0 ? null : yield* this.#owners.of(workspace)
    return workspace !== 0 && owner === null ? null : toNotice(found.row, owner, markOf(above(found)))
  }

  /** Null for what nobody who follows is told: history, and what its mail or its workspace is gone of. */
  *told(found: PlacedRow): Asking<LogRow | null> {
    const { n, row, ord } = found
    if (n === 0 && row.scope === null) return null
    if (n === 0 && row.email === null) return yield* this.#notice(found)
    const mail = yield* this.#mails.of(n > 0 ? ord : (row.email as number))
    const owner = mail === null ? null : yield* this.#owners.of(mail.workspace)
    if (mail === null || owner === null) return null
    return toTold(mail, owner, yield* this.#eventOf(mail, found), found)
  }

  *allTold(places: readonly PlacedRow[]): Asking<LogRow[]> {
    const rows = yield* several(places.map((found) => () => this.told(found)))
    return rows.filter((row) => row !== null)
  }

  /** Of its mail's timeline, which tells of history, too. */
  *event(found: PlacedRow, emailOrd: number): Asking<EventRow | null> {
    const mail = yield* this.#mails.of(emailOrd)
    return mail === null ? null : yield* this.#eventOf(mail, found)
  }
}
