/**
 * NAME      move - a store goes into another database, once
 *   Of each row the beginning of an MD5, summed modulo 2^52: rows may come in any order. Fields are joined by U+001F,
 *   one without a value is U+0001, octets are their own MD5 in hex. It finds what was lost or changed by mistake, and
 *   is no proof against anybody.
 *   What goes along when a store moves to another database: Every table of the store that is left is in one of the two
 *   lists; so a new table is not forgotten without a word. Of each table those columns go that both sides have.
 *   A store goes into another database, once: At each moment at most one of the two can be served. The copy is one
 *   transaction of the target, compared before it is committed; until the very end the target is marked as a move that
 *   is not finished, and no daemon starts on it. The folder is closed in one transaction with what the move changed in
 *   it; from then on the target is opened, and if that was cut off, the same command opens it. Back the other way
 *   round: the target is closed, then the folder opened. Only a target whose rows are those that the move brought is
 *   given up.
 */
import { createHash } from 'node:crypto'

export interface Sum {
  readonly rows: number
  readonly sum: number
}

/** Of tables; each over these columns. */
export type TableSums = Readonly<Record<string, Sum & { readonly columns: readonly string[] }>>

const MODULUS = 2 ** 52
export const SEPARATOR = '\u001f'
export const NONE = '\u0001'

const md5 = (of: string | Uint8Array): string => createHash('md5').update(of).digest('hex')

const textOf = (value: unknown): string =>
  value === null ? NONE : value instanceof Uint8Array ? md5(value) : String(value)

export const createSum = () => {
  let rows = 0
  let sum = 0
  return {
    add(row: readonly unknown[]): void {
      rows += 1
      sum = (sum + Number.parseInt(md5(row.map(textOf).join(SEPARATOR)).slice(0, 13), 16)) % MODULUS
    },
    total: (): Sum => ({ rows, sum }),
  }
}

export const isSame = (a: Sum | undefined, b: Sum | undefined): boolean =>
  a !== undefined && a.rows === b?.rows && a.sum === b.sum

/** In this order, each sorted by these columns. */
export const MOVED: Readonly<Record<string, string>> = {
  accounts: 'id',
  pools: 'n',
  workspaces: 'n',
  resumes: 'workspace_id',
  keys: 'id',
  credentials: 'id',
  domains: 'id',
  domain_reports: 'id',
  suppressions: 'id',
  pepper: 'mark',
  return_path: 'ring',
  users: 'id',
  identities: 'account_id, issuer, subject',
  factors: 'id',
  links: 'id',
  sessions: 'id',
  remembered: 'kind, value',
  audit: 'ord',
  submitters: 'n',
  bodies: 'n',
  emails: 'ord',
  email_days: 'day',
  tags: 'workspace, name, value, email_ord',
  recipient_rows: 'id',
  queue: 'id',
  events: 'ord',
  log_state: 'since',
  mtas: 'n',
  attempt_details: 'n',
  reports: 'n',
  owed_dsns: 'email_id, action, recipient_id',
  idempotency: 'workspace, test, key',
  rate_windows: 'bucket, span',
  holds: 'id',
  pauses: 'pool, paused_at',
  queue_orders: 'n',
  lots: 'id',
  jobs: 'id',
  setups: 'account_id, setup',
  managed: 'account_id, setup, kind, workspace, name',
  webhooks: 'id',
  webhook_places: 'endpoint_id',
  posts: 'id',
  brief_posts: 'endpoint_id, first',
  replays: 'id',
  statistics: 'span, at, dimension, workspace, test, value',
  statistics_place: 'mark',
  outages: 'upstream_id',
  warmup_days: 'id, day',
  alarm_counts: 'workspace, span',
  alarm_mark: 'mark',
  sandbox_place: 'mark',
  hard_bounces: 'cause, email, list',
  hard_counts: 'hour, cause',
  incidents: 'id',
  pending_suppressions: 'id',
  order_state: 'last',
}

/** What stays, and why. */
export const STAYS: Readonly<Record<string, string>> = {
  recipients: 'its rows go into recipient_rows and queue',
  carried_bodies: 'a body gets the place of its mail',
  changes: 'of one process',
  rules: 'of one process',
  fence: 'of one process',
  made_by: 'of its schema',
  search_parts: 'the index is made anew',
  search_spans: 'the index is made anew',
  search_state: 'the index is made anew',
}

/** What cannot be done, in one line with its remedy. */
export class MoveRefusedError extends Error {
  override readonly name = 'MoveRefusedError'
}

/** In a folder whose store has gone. */
export interface Departure {
  readonly id: string
  /** Where it went, without a password. */
  readonly place: string
  readonly at: number
}

type MoveState = 'copying' | 'copied' | 'in' | 'undone'

/** In a database that a store goes into. */
export interface Arrival {
  readonly id: string
  /** Machine and folder. */
  readonly from: string
  readonly at: number
  readonly state: MoveState
  readonly sums: TableSums
}

export interface Column {
  readonly name: string
  readonly type: string
}

export interface MovedRows {
  readonly columns: readonly string[]
  readonly rows: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>
}

/** A folder, locked, on which nobody else writes. */
export interface MoveSource {
  readonly name: string
  departure(): Departure | null
  /** From here on one transaction; what was under way is as after a crash. */
  begin(now: number): void
  /** Columns of a table that it has, of those that the target has. */
  rows(table: string, wanted: readonly string[]): MovedRows
  /** Ids of mails whose bodies are gone from the disk. */
  readonly missing: readonly string[]
  /** Ends the transaction: from then on every Postern refuses the folder. */
  depart(to: Departure): void
  /** Takes that back. */
  comeBack(): void
  close(): void
}

export interface Target {
  readonly place: string
  arrival(): Promise<Arrival | null>
  /** Nobody is there but what a move left. */
  isFree(): Promise<boolean>
  /** From here on one transaction, in which nobody else comes in. */
  lock(): Promise<void>
  /** Who has it open, if anybody. */
  busy(): Promise<string | null>
  /** Locked, with tables that are empty. */
  begin(arrival: Arrival): Promise<void>
  columns(table: string): Promise<readonly Column[]>
  /** Stores rows and compares what is there with what was given. */
  copy(table: string, columns: readonly Column[], rows: MovedRows['rows']): Promise<Sum>
  /** Gives all writers places above those that came along. */
  rise(): Promise<void>
  /** The rows that are there now. */
  sums(of: TableSums): Promise<TableSums>
  /** Ends the transaction, if there is one. */
  set(arrival: Arrival): Promise<void>
  close(): Promise<void>
}

export interface Moving {
  readonly source: MoveSource
  readonly target: Target
  readonly id: string
  readonly now: number
  /** Crash tests only. */
  pass(point: string): void
  /** Of each table that is there. */
  say(line: string): void
}

export interface Moved {
  readonly place: string
  /** An earlier run had done it, but for the end. */
  readonly isFinished: boolean
  readonly tables: TableSums
  readonly missing: readonly string[]
}

const refuse = (message: string): never => {
  throw new MoveRefusedError(message)
}

const NAMES = Object.keys(MOVED)

const copyAll = async ({ source, target, pass, say }: Moving): Promise<TableSums> => {
  const sums: Record<string, Sum & { readonly columns: readonly string[] }> = {}
  for (const table of NAMES) {
    const there = await target.columns(table)
    if (there.length === 0) continue
    const { columns, rows } = source.rows(
      table,
      there.map(({ name }) => name),
    )
    const chosen = columns.map((name) => there.find((one) => one.name === name) as Column)
    const sum = await target.copy(table, chosen, rows)
    sums[table] = { ...sum, columns }
    if (sum.rows > 0) say(`${table}: ${sum.rows}`)
    pass(`move.${table}`)
  }
  return sums
}

/** The move was done by an earlier run, whose folder is closed; null: it was not. */
const finished = async ({ source, target, pass }: Moving, found: Arrival | null): Promise<Moved | null> => {
  const gone = source.departure()
  if (gone === null) return null
  if (found?.id !== gone.id)
    refuse(`the mail of ${source.name} went to ${gone.place}, which is another database`)
  if (found?.state === 'in') refuse(`the mail of ${source.name} is in ${gone.place} already`)
  if (found?.state !== 'copied')
    refuse(`a move back out of ${gone.place} is not finished: run postern store move --to FILE --undo again`)
  await target.set({ ...(found as Arrival), state: 'in' })
  pass('move.opened')
  return { place: gone.place, isFinished: true, tables: found?.sums ?? {}, missing: [] }
}

const refuseUnlessFree = async ({ source, target }: Moving, found: Arrival | null): Promise<void> => {
  if (found === null && !(await target.isFree()))
    refuse(`${target.place} has a store already: name an empty database`)
  if (found?.state === 'in')
    refuse(`${target.place} has the store of ${found.from} already: name an empty database`)
  if (found !== null && found.from !== source.name)
    refuse(
      `a move from ${found.from} into ${target.place} is not finished: finish it there, or name an empty database`,
    )
}

export const move = async (moving: Moving): Promise<Moved> => {
  const { source, target, id, now, pass } = moving
  const found = await target.arrival()
  const done = await finished(moving, found)
  if (done !== null) return done
  await refuseUnlessFree(moving, found)
  const arrival: Arrival = { id, from: source.name, at: now, state: 'copying', sums: {} }
  pass('move.begin')
  await target.begin(arrival)
  pass('move.marked')
  source.begin(now)
  pass('move.recovered')
  const sums = await copyAll(moving)
  const copied: Arrival = { ...arrival, state: 'copied', sums }
  await target.rise()
  await target.set(copied)
  pass('move.copied')
  source.depart({ id, place: target.place, at: now })
  pass('move.departed')
  await target.set({ ...copied, state: 'in' })
  pass('move.opened')
  return { place: target.place, isFinished: false, tables: sums, missing: source.missing }
}

const refuseUsed = async ({ target }: Moving, { sums }: Arrival): Promise<void> => {
  const who = await target.busy()
  if (who !== null) refuse(`${target.place} is in use (${who}): stop all daemons there first`)
  const now = await target.sums(sums)
  const other = Object.keys(sums).filter((table) => !isSame(sums[table], now[table]))
  if (other.length > 0)
    refuse(`${target.place} was used since the move (${other.join(', ')}): its mail cannot come back`)
}

const stillThere = ({ source, target }: Moving, found: Arrival | null): string =>
  found?.from === source.name && found.state !== 'undone'
    ? `the mail of ${source.name} is there: nothing is to be undone, and the move into ${target.place} was broken off; postern store move --to does it whole`
    : `the mail of ${source.name} is there: nothing is to be undone`

/** Back to the folder; where the mail was. */
export const undo = async (moving: Moving): Promise<string> => {
  const { source, target, pass } = moving
  const found = await target.arrival()
  const gone = source.departure() ?? refuse(stillThere(moving, found))
  if (found === null || found.id !== gone.id)
    return refuse(`the mail of ${source.name} went to ${gone.place}, and ${target.place} does not have it`)
  if (found.state !== 'undone') {
    await target.lock()
    await refuseUsed(moving, found)
    pass('undo.compared')
    await target.set({ ...found, state: 'undone' })
  }
  pass('undo.closed')
  source.comeBack()
  pass('undo.back')
  return gone.place
}
