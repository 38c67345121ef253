/**
 * NAME      mails - rows of mails and recipients, and what is read of them
 *   One column of its row. A list that is empty is not in it, as most are; nor is what other rows say: `to` is 1 when
 *   it is the address of the only recipient, and who submitted the mail is a number. Rows from before this was so say
 *   each of them.
 *   Where the tables of mail are not the same in all databases, what is shared asks these.
 *   A Message-ID that we gave is the id of its mail and the name of this host; an address is stored as it was written
 *   only where that differs from `address_lc`. The whole texts are columns that the database makes.
 *   Lists are made of branches: one per workspace and mode (and status), each an index range, so a page costs the same
 *   at a thousand rows and at ten million. `to` and `tag` lead with their own index. Time filters become ranges of
 *   places (sql/pages.ts), which are narrow unless the clock was wrong on a day. Counts what was accepted already
 *   leased and is not settled yet. The bounds keep memory independent of the queue, and the bound per workspace leaves
 *   room for others when one tenant pours in a hundred thousand mails: what is not admitted waits in the store and is
 *   claimed in turn. So does mail of a pool that can not carry any: handing it over would be two commits for nothing.
 *   Where others could carry it as well, a pool has no more at hand than it has room for. What is known of a recipient
 *   can be kept with it, for as long as it is here.
 */
import { EXTRA_COLUMNS, type ExtraKind, type Extras } from '../../lifecycle/extras.js'
import type { NewEmail } from '../../lifecycle/facts.js'
import type { Mode, Page, Rows } from '../../lifecycle/page.js'
import { isVisible } from '../../lifecycle/schedule.js'
import { wireAddress } from '../../mail/address.js'
import { STATUSES, type Status } from '../../mail/status.js'
import type {
  EmailFilter,
  EmailRecord,
  EmailRow,
  EmailScope,
  LastWords,
  RecipientOwner,
  RecipientRow,
} from '../port/mail.js'
import { flat } from './flat.js'
import {
  ALL_DAYS,
  type Branch,
  type Day,
  type Frontier,
  type Ids,
  listOfBranches,
  type PagedList,
  pageOf,
  type Range,
  rangesOf,
} from './pages.js'
import { type Asking, all, first, type Row } from './query.js'

type Lists = Pick<NewEmail, 'to' | 'cc' | 'bcc' | 'replyTo' | 'tags' | 'attachments'>
type Rare = Pick<NewEmail, 'extras' | 'submittedBy' | 'trace'>

const EMPTY: Lists = { to: [], cc: [], bcc: [], replyTo: [], tags: [], attachments: [] }
const NAMES = Object.keys(EMPTY) as (keyof Lists)[]

/** What is left of a mail that was erased. */
export const NO_LISTS = '{}'

const TO_ONE = 1
/** What such lists begin with. */
const BEGINS = JSON.stringify({ to: TO_ONE }).slice(0, -1)

/** In a SELECT of emails `e`: what readLists() wants beside the column itself. */
export const SUBMITTED_BY = '(SELECT s.id FROM submitters s WHERE s.n = e.submitter) AS submitted_by'
export const BESIDE_LISTS = `CASE WHEN substr(e.lists, 1, ${BEGINS.length}) = '${BEGINS}' THEN
  (SELECT o.address FROM recipients o WHERE o.email_ord = e.ord) END AS only_address, ${SUBMITTED_BY}`

const isToOne = ({ to, recipients }: NewEmail): boolean => {
  const [only] = recipients
  return recipients.length === 1 && only?.kind === 'to' && to.length === 1 && to[0] === only.address
}

/** What has no column. */
const withoutColumns = (extras: Extras): Extras => {
  const left = { ...extras }
  for (const { name } of EXTRA_COLUMNS) delete left[name]
  return left
}

export const packLists = (mail: NewEmail): string => {
  const packed: Record<string, unknown> = isToOne(mail) ? { to: TO_ONE } : {}
  for (const name of NAMES) if (mail[name].length > 0) packed[name] ??= mail[name]
  if (mail.ignoreSuppressions === true) packed.insists = true
  if (mail.trace != null) packed.trace = mail.trace
  if (mail.extras != null) {
    const extras = withoutColumns(mail.extras)
    if (Object.keys(extras).length > 0) packed.extras = extras
  }
  return JSON.stringify(packed)
}

interface ListsRow {
  readonly lists?: unknown
  readonly only_address?: unknown
  readonly submitted_by?: unknown
}

export const readLists = ({ lists, only_address: only, submitted_by: by }: ListsRow): Lists & Rare => {
  // as 0.9.2 wrote it
  const { resentFrom, ...packed } = JSON.parse(String(lists))
  const read = { ...EMPTY, ...packed }
  if (read.to === TO_ONE) read.to = only == null ? [] : [only]
  if (resentFrom != null) read.extras = { resent_from: resentFrom }
  if (by != null) read.submittedBy = by
  return read
}

type Kept = Pick<
  NewEmail,
  'id' | 'source' | 'needsSmtpUtf8' | 'envid' | 'ret' | 'messageId' | 'from' | 'subject' | 'extras'
> &
  Pick<NewEmail, 'mailFrom' | 'requireTls'>

/** What a mail brings into its row beside its lists, by columns: all databases store these. */
export const BROUGHT = flat<Kept>()([['source', 'envid', 'ret', 'subject']], {
  utf8: (mail) => (mail.needsSmtpUtf8 ? 1 : 0),
  message: (mail) => shortMessageId(mail.id, mail.messageId).message,
  message_host: (mail) => shortMessageId(mail.id, mail.messageId).message_host,
  sender: (mail) => mail.from,
  mail_from: (mail) => mail.mailFrom ?? null,
  require_tls: (mail) => (mail.requireTls === true ? 1 : 0),
  ...Object.fromEntries(
    EXTRA_COLUMNS.map(({ name, kind }) => [
      name,
      ({ extras }: Kept) =>
        (kind === 'flag' && extras?.[name] !== undefined ? Number(extras[name]) : extras?.[name]) ?? null,
    ]),
  ),
})

const SQL_TYPES: Readonly<Record<ExtraKind, string>> = { text: 'text', number: 'bigint', flag: 'smallint' }

/** The type of each, in PostgreSQL's words. */
export const typeOfBrought = (column: string): string => {
  const extra = EXTRA_COLUMNS.find(({ name }) => name === column)
  if (extra !== undefined) return SQL_TYPES[extra.kind]
  return column === 'utf8' || column === 'require_tls' ? 'smallint' : 'text'
}

/** With those that have a column. */
const extrasIn = (row: Row, packed: Extras | null | undefined): Pick<EmailRow, 'extras'> => {
  const own = EXTRA_COLUMNS.filter(({ name }) => row[name] != null)
  if (own.length === 0) return packed == null ? {} : { extras: packed }
  const read = own.map(({ name, kind }) => [name, kind === 'flag' ? row[name] === 1 : row[name]])
  return { extras: { ...packed, ...Object.fromEntries(read) } }
}

export const EMAIL = `SELECT e.*, w.id AS workspace_id, w.account_id, ${BESIDE_LISTS} FROM emails e JOIN workspaces w ON w.n = e.workspace AND w.deleted_at IS NULL`

export const modeOf = (test: unknown): Mode => (test === 1 ? 'test' : 'live')

export const toEmail = (row: Row): EmailRow => {
  const lists = readLists(row)
  return {
    id: row.id as string,
    accountId: row.account_id as string,
    workspaceId: row.workspace_id as string,
    mode: modeOf(row.test),
    source: row.source as EmailRow['source'],
    from: row.sender as string,
    subject: row.subject as string,
    ...lists,
    ...extrasIn(row, lists.extras),
    messageId: row.message_id as string,
    scheduledAt: row.scheduled_at as number | null,
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    status: row.status as Status,
    counts: Object.fromEntries(STATUSES.map((status) => [status, row[status]])) as EmailRow['counts'],
  }
}

const toRecipient = (row: Row): RecipientRow => ({
  id: row.id as string,
  address: row.address as string,
  kind: row.kind as RecipientRow['kind'],
  status: row.status as Status,
  attempts: row.attempts as number,
  lastResponse: row.last_response as string | null,
  reason: row.reason as string | null,
  updatedAt: row.updated_at as number,
  dueAt: row.due_at as number | null,
})

export interface MailTables {
  /** All recipients, with the columns that tell when they are due and who has them. */
  readonly recipients: string
  /** Those of them that wait, are under way or are held. */
  readonly waiting: string
  /** The account of an event `v` that is not about a mail. */
  readonly accountOfNotice: string
  /** The number of the server that an event `e` of a mail tells of. */
  readonly mtaOfEvent: string
  /** All recipients, without when they are due. */
  readonly record: string
  /** The domain of a recipient `r`. */
  readonly domainOf: string
  /** After the name of a table, where a planner must be told: this index, or none. */
  by(index: string | null): string
  /** How far several writers are that store mail side by side; null: mail comes in above all that is there. */
  readonly frontiers: (() => Asking<readonly Frontier[]>) | null
}

const toOwner = (row: Row): RecipientOwner => ({
  recipientId: row.id as string,
  emailId: row.email_id as string,
  accountId: row.account_id as string,
  workspaceId: row.workspace_id as string,
  mode: modeOf(row.test),
  address: row.address as string,
  orcpt: row.orcpt as string | null,
  status: row.status as Status,
  tried: row.attempts !== 0 || row.attempting !== null,
  poolId: row.pool_id as string,
  messageId: row.message_id as string,
  envid: row.envid as string | null,
  isDeleted: row.deleted_at !== null,
  createdAt: row.created_at as number,
})

function* email(tables: MailTables, scope: EmailScope, id: string): Asking<EmailRecord | null> {
  const row = yield* first(`${EMAIL} WHERE e.id = ?`, id)
  if (row === null || !isVisible(scope, toEmail(row))) return null
  const pool = yield* first('SELECT id FROM pools WHERE n = ?', row.pool)
  const recipients = yield* all(`SELECT * FROM ${tables.recipients} WHERE email_ord = ? ORDER BY id`, row.ord)
  return {
    ...toEmail(row),
    recipients: recipients.map(toRecipient),
    poolId: pool?.id as string,
    requireTls: row.require_tls === 1,
    ...(row.mail_from === '' && { mailFrom: '' }),
  }
}

function* lastWordsOf(emailId: string): Asking<readonly LastWords[]> {
  const row = yield* first(
    `SELECT r.last_response, r.reason FROM emails e JOIN recipients r ON r.email_ord = e.ord
     WHERE e.id = ? AND r.status = e.status AND r.status IN ('bounced', 'deferred') LIMIT 1`,
    emailId,
  )
  if (row === null) return []
  const { last_response, reason } = row
  return [{ emailId, lastResponse: last_response as string | null, reason: reason as string | null }]
}

/** `b.n` is where a database looks for a body, and `e.body` says so. */
const WITH_BODY = 'FROM emails e JOIN bodies b ON b.n = e.body AND b.email_id = e.id WHERE e.id = ?'

export const mailReads = (tables: MailTables) => ({
  email: (scope: EmailScope, id: string): Asking<EmailRecord | null> => email(tables, scope, id),

  *trace(emailId: string): Asking<string | null> {
    const row = yield* first('SELECT lists FROM emails WHERE id = ?', emailId)
    return row === null ? null : (readLists(row).trace ?? null)
  },

  *content(emailId: string): Asking<string | null> {
    const row = yield* first(`SELECT b.content ${WITH_BODY}`, emailId)
    return (row?.content ?? null) as string | null
  },

  *hasBody(emailId: string): Asking<boolean> {
    return (yield* first(`SELECT 1 AS found ${WITH_BODY}`, emailId)) !== null
  },

  *report(emailId: string, name: string): Asking<Uint8Array | null> {
    const row = yield* first(
      'SELECT o.octets FROM emails e JOIN reports o ON o.email = e.ord WHERE e.id = ? AND o.name = ?',
      emailId,
      name,
    )
    return (row?.octets ?? null) as Uint8Array | null
  },

  *lastWords(emailIds: readonly string[]): Asking<readonly LastWords[]> {
    const words: LastWords[] = []
    for (const emailId of emailIds) words.push(...(yield* lastWordsOf(emailId)))
    return words
  },

  *recipient(recipientId: string): Asking<RecipientOwner | null> {
    const row = yield* first(
      `SELECT r.id, e.id AS email_id, r.address, r.orcpt, r.status, r.attempts, r.attempting, w.account_id, w.id AS workspace_id, w.deleted_at, p.id AS pool_id,
         e.test, e.message_id, e.envid, e.created_at
       FROM ${tables.recipients} r JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace
         JOIN pools p ON p.n = r.pool WHERE r.id = ?`,
      recipientId,
    )
    return row === null ? null : toOwner(row)
  },
})

/** Word for word in the index and in each query, or SQLite would not use it. */
export const FOREIGN_MESSAGE_ID = 'message_host IS NULL AND substr(message, 2, 29) <> id'

/** A longer one is no key of an index everywhere, and found by nobody. */
export const INDEXED_MESSAGE_ID = `${FOREIGN_MESSAGE_ID} AND length(message) < 600`

/** In a SELECT of recipients: whose they are. */
export const EMAIL_ID = '(SELECT e.id FROM emails e WHERE e.ord = email_ord) AS email_id'

/** In a condition on recipients: those of one mail. */
export const OF_EMAIL = 'email_ord = (SELECT ord FROM emails WHERE id = ?)'

export const shortMessageId = (id: string, messageId: string) => {
  const start = `<${id}@`
  return messageId.startsWith(start) && messageId.endsWith('>')
    ? { message: '', message_host: messageId.slice(start.length, -1) }
    : { message: messageId, message_host: null }
}

export const shortAddress = (address: string) => {
  const address_lc = address.toLowerCase()
  return { written: address === address_lc ? '' : address, address_lc }
}

class Clauses {
  readonly texts: string[] = []
  readonly params: unknown[] = []
  add(text: string, ...params: readonly unknown[]): this {
    this.texts.push(text)
    this.params.push(...params)
    return this
  }
}

const timesOf = ({ createdAfter, createdBefore }: EmailFilter): Clauses => {
  const clauses = new Clauses()
  if (createdAfter !== null) clauses.add('e.created_at > ?', createdAfter)
  if (createdBefore !== null) clauses.add('e.created_at < ?', createdBefore)
  return clauses
}

const whole = ({ texts, params }: Clauses) => ({ where: texts.join(' AND '), params })

const branch = (from: string, ord: string, clauses: Clauses, filter: EmailFilter): Branch => {
  const times = timesOf(filter)
  return { from, ord, ...whole(clauses), ...(times.texts.length > 0 && { unsure: whole(times) }) }
}

/** An address as `address_lc` has it, however its domain is written. */
export const addressLc = (address: string): string => wireAddress(address).toLowerCase()

/** Branches of one workspace that start from a recipient's address or a tag, and look the rest up. */
const searched = (filter: EmailFilter, workspace: number): Branch => {
  const clauses = new Clauses()
  const { to, tag } = filter
  const ord = to !== null ? 'r.email_ord' : 't.email_ord'
  if (to !== null) clauses.add('r.workspace = ? AND r.address_lc = ?', workspace, addressLc(to))
  if (tag !== null) {
    const table = to === null ? '' : ' AND t.email_ord = r.email_ord'
    clauses.add(`t.workspace = ? AND t.name = ? AND t.value = ?${table}`, workspace, tag.name, tag.value)
  }
  if (filter.mode !== null) clauses.add('e.test = ?', filter.mode === 'test' ? 1 : 0)
  if (filter.status !== null) clauses.add('e.status = ?', filter.status)
  const from = [...(to !== null ? ['recipients r'] : []), ...(tag !== null ? ['tags t'] : []), 'emails e']
  // CROSS JOIN keeps this order: the searched index leads.
  const joined = clauses.add(`e.ord = ${ord}`)
  return { ...branch(from.join(' CROSS JOIN '), ord, joined, filter), repeats: true }
}

const branchesOf = (filter: EmailFilter, workspaces: readonly number[]): Branch[] => {
  if (filter.to !== null || filter.tag !== null) return workspaces.map((n) => searched(filter, n))
  const modes = filter.mode === null ? [0, 1] : [filter.mode === 'test' ? 1 : 0]
  return workspaces.flatMap((n) =>
    modes.map((test) => {
      const clauses = new Clauses().add('e.workspace = ? AND e.test = ?', n, test)
      if (filter.status !== null) clauses.add('e.status = ?', filter.status)
      return branch('emails e', 'e.ord', clauses, filter)
    }),
  )
}

/** The numbers of the workspaces that are meant. */
export function* workspacesIn({
  accountId,
  workspaceId,
}: Pick<EmailScope, 'accountId' | 'workspaceId'>): Asking<number[]> {
  const some = 'SELECT n FROM workspaces WHERE account_id = ? AND deleted_at IS NULL'
  const rows =
    workspaceId === null
      ? yield* all(some, accountId)
      : yield* all(`${some} AND id = ?`, accountId, workspaceId)
  return rows.map((row) => row.n as number)
}

/** Places of mails with a Message-ID, newest first. */
export function* ordsOfMessage(messageId: string, limit: number): Asking<number[]> {
  const own = /^<?(em_[0-9a-z]{26})@/.exec(messageId)?.[1]
  const mine = own === undefined ? null : yield* first('SELECT ord FROM emails WHERE id = ?', own)
  if (mine !== null) return [mine.ord as number]
  const rows = yield* all(
    `SELECT ord FROM emails WHERE message = ? AND ${INDEXED_MESSAGE_ID} ORDER BY ord DESC LIMIT ? + 0`,
    messageId,
    limit,
  )
  return rows.map((row) => row.ord as number)
}

/** Where mails can stand that were created within these times. */
export function* rangesFor({
  createdAfter,
  createdBefore,
}: Pick<EmailFilter, 'createdAfter' | 'createdBefore'>): Asking<readonly Range[] | undefined> {
  if (createdAfter === null && createdBefore === null) return undefined
  return rangesOf((yield* all(ALL_DAYS)) as unknown as Day[], createdAfter, createdBefore)
}

function* byOrd(ord: number): Asking<EmailRow | null> {
  const row = yield* first(`${EMAIL} WHERE e.ord = ?`, ord)
  return row === null ? null : toEmail(row)
}

/** Places of mails to an address, whoever's they are. */
function* ordsOfAddress(address: string, limit: number): Asking<number[]> {
  const ords: number[] = []
  for (const workspace of yield* all('SELECT n FROM workspaces WHERE deleted_at IS NULL')) {
    const rows = yield* all(
      'SELECT DISTINCT email_ord FROM recipients WHERE workspace = ? AND address_lc = ? ORDER BY email_ord DESC LIMIT ? + 0',
      workspace.n,
      address,
      limit,
    )
    ords.push(...rows.map((row) => row.email_ord as number))
  }
  return ords
}

/** Mails by their ids; whoever reads the list may name what is of his workspace and mode, whatever became of it since. */
export const idsOfMails = ({ accountId, workspaceId, mode }: EmailScope): Ids => {
  const mine = 'SELECT n FROM workspaces WHERE account_id = ? AND deleted_at IS NULL'
  const one = workspaceId === null ? '' : ' AND id = ?'
  const test = mode === null ? '' : ` AND test = ${mode === 'test' ? 1 : 0}`
  return {
    from: `emails WHERE workspace IN (${mine}${one})${test}`,
    params: [accountId, ...(workspaceId === null ? [] : [workspaceId])],
  }
}

function* listed(filter: EmailFilter, frontiers: MailTables['frontiers']): Asking<PagedList> {
  const branches = branchesOf(filter, yield* workspacesIn(filter))
  const ids = idsOfMails(filter)
  return { ...listOfBranches(branches, ids, yield* rangesFor(filter)), frontiers }
}

export const emailReads = ({ frontiers }: Pick<MailTables, 'frontiers'>) => ({
  *emails(filter: EmailFilter, page: Page): Asking<Rows<EmailRow>> {
    return yield* pageOf(yield* listed(filter, frontiers), page, byOrd)
  },

  *findEmails(text: string, limit: number): Asking<readonly EmailRow[]> {
    const found = text.startsWith('<')
      ? yield* ordsOfMessage(text, limit)
      : yield* ordsOfAddress(addressLc(text), limit)
    const rows: EmailRow[] = []
    for (const ord of [...new Set(found)].sort((a, b) => b - a).slice(0, limit)) {
      const row = yield* byOrd(ord)
      if (row !== null) rows.push(row)
    }
    return rows
  },
})

const MAX_RECIPIENTS = 2000
const MAX_BYTES = 32 * 1024 * 1024
const MAX_PER_WORKSPACE = 500

export interface HotSet<Known = never> {
  /** Whether someone takes hot mail at all. */
  open: boolean
  /** The pools whose mail the taker wants; null while it has not said. */
  ready: ReadonlySet<string> | null
  /** Whether the taker could do anything with mail of this pool. */
  wants(poolId: string): boolean
  /** Takes a recipient in if it fits. */
  admit(
    recipientId: string,
    poolId: string,
    workspace: number | string,
    bytes: number,
    known?: Known,
  ): boolean
  known(recipientId: string): Known | undefined
  drop(recipientId: string): void
  clear(): void
  readonly size: number
}

interface Entry<Known> {
  readonly poolId: string
  readonly workspace: number | string
  readonly bytes: number
  readonly known: Known | undefined
}

/** How many there are of each. */
const createTally = <Key>() => {
  const counts = new Map<Key, number>()
  return {
    of: (key: Key): number => counts.get(key) ?? 0,
    add(key: Key, by: 1 | -1): void {
      const left = (counts.get(key) ?? 0) + by
      if (left === 0) counts.delete(key)
      else counts.set(key, left)
    },
    clear: (): void => counts.clear(),
  }
}

/** `roomOf`: how many mails of a pool there is room for; unsaid, any number. */
export const createHotSet = <Known = never>(roomOf?: (poolId: string) => number): HotSet<Known> => {
  const held = new Map<string, Entry<Known>>()
  const ofWorkspace = createTally<number | string>()
  const ofPool = createTally<string>()
  let bytesHeld = 0
  return {
    open: false,
    ready: null,
    wants(poolId) {
      return this.ready === null || this.ready.has(poolId)
    },
    get size() {
      return held.size
    },
    admit(recipientId, poolId, workspace, bytes, known) {
      if (!this.open || !this.wants(poolId) || held.size >= MAX_RECIPIENTS) return false
      if (ofWorkspace.of(workspace) >= MAX_PER_WORKSPACE || bytesHeld + bytes > MAX_BYTES) return false
      if (roomOf !== undefined && ofPool.of(poolId) >= roomOf(poolId)) return false
      held.set(recipientId, { poolId, workspace, bytes, known })
      ofWorkspace.add(workspace, 1)
      ofPool.add(poolId, 1)
      bytesHeld += bytes
      return true
    },
    known: (recipientId) => held.get(recipientId)?.known,
    drop(recipientId) {
      const entry = held.get(recipientId)
      if (entry === undefined) return
      held.delete(recipientId)
      bytesHeld -= entry.bytes
      ofWorkspace.add(entry.workspace, -1)
      ofPool.add(entry.poolId, -1)
    },
    clear() {
      held.clear()
      ofWorkspace.clear()
      ofPool.clear()
      bytesHeld = 0
    },
  }
}
