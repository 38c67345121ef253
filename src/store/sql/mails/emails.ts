/**
 * NAME      emails - lists of mail
 * DESCRIPTION
 *   Lists are made of branches: one per workspace and mode (and status), each an
 *   index range, so a page costs the same at a thousand rows and at ten million.
 *   `to` and `tag` lead with their own index.
 *   Time filters become ranges of places (order/days.ts), which are narrow
 *   unless the clock was wrong on a day.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import { wireAddress } from '../../../mail/address.js'
import type { EmailFilter, EmailRow, EmailScope } from '../../port/mail.js'
import { ALL_DAYS, type Day, type Range, rangesOf } from '../order/days.js'
import type { Ids } from '../pages/marks.js'
import { type Branch, type List, listOfBranches, pageOf } from '../pages/pages.js'
import { type Asking, all, first } from '../query.js'
import { EMAIL, toEmail } from './rows.js'
import { INDEXED_MESSAGE_ID } from './short.js'
import type { MailTables } from './tables.js'

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
    from: 'emails WHERE true',
    params: [],
    own: {
      from: `emails WHERE workspace IN (${mine}${one})${test}`,
      params: [accountId, ...(workspaceId === null ? [] : [workspaceId])],
    },
  }
}

function* listed(filter: EmailFilter, frontiers: MailTables['frontiers']): Asking<List> {
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
