/**
 * NAME      fixture - mails, mailboxes and outcomes for the tests of the store
 * DESCRIPTION
 *   Plain makers with every field filled, so that a test states only what it is
 *   about. Time is a number that the test moves.
 */
import type { Test } from 'tap'
import { newId, newRecipientId } from '../../src/base/id.js'
import {
  type Claimed,
  type NewEmail,
  type NewRecipient,
  type Outcome,
  observed,
} from '../../src/lifecycle/facts.js'
import type { Mode, Page } from '../../src/lifecycle/page.js'
import { beginningOf } from '../../src/store/pools.js'
import type { Followed, LogFilter, WholeLog } from '../../src/store/port/log.js'
import type { EmailFilter, EmailScope } from '../../src/store/port/mail.js'
import type { Store } from '../../src/store/port/store.js'
import type { WorkspaceRow } from '../../src/store/port/tenants.js'
import type { Added, AlarmTurn, Reading } from '../../src/store/port/watch.js'

/** Gives a fresh, opened store and closes it when the test ends. */
export type OpenStore = (t: Test) => Promise<Store>

export const T0 = Date.UTC(2026, 10, 20, 10)
export const HOUR = 3600_000

export interface TestAccount {
  readonly accountId: string
  readonly workspace: WorkspaceRow
  readonly poolId: string
}

/** An account of its own for a test, so that tests can share a store. */
export const newAccount = async (store: Store): Promise<TestAccount> => {
  const accountId = newId('acct')
  const beginning = beginningOf(accountId, T0)
  const { workspace } = beginning
  await store.createAccount({ id: accountId, name: 'test', createdAt: T0 }, beginning)
  const pool = await store.pool(accountId, 'sandbox')
  if (pool === null) throw new Error('an account has no sandbox pool')
  return { accountId, workspace, poolId: pool.id }
}

export const addWorkspace = async (
  store: Store,
  at: TestAccount,
  slug: string,
  change: Partial<WorkspaceRow> = {},
): Promise<TestAccount> => {
  const workspace: WorkspaceRow = {
    ...at.workspace,
    id: newId('ws'),
    slug,
    name: slug,
    isDefault: false,
    ...change,
  }
  await store.createWorkspace(workspace)
  return { ...at, workspace }
}

export const toOne = (address: string, over: Partial<NewRecipient> = {}): NewRecipient => ({
  id: newRecipientId(),
  address,
  kind: 'to',
  suppressed: false,
  dsn: null,
  ...over,
})

export const mailFor = (at: TestAccount, over: Partial<NewEmail> = {}): NewEmail => {
  const createdAt = over.createdAt ?? T0
  const id = over.id ?? newId('em', createdAt)
  const recipients = over.recipients ?? [toOne('ana@example.com')]
  return {
    id,
    accountId: at.accountId,
    workspaceId: at.workspace.id,
    mode: 'live',
    source: 'api',
    from: 'Acme <no-reply@acme.test>',
    to: recipients.map((recipient) => recipient.address),
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Receipt',
    tags: [],
    attachments: [],
    messageId: `<${id}@mail.acme.test>`,
    scheduledAt: null,
    poolId: at.poolId,
    raw: Buffer.from('Subject: Receipt\r\n\r\nhello\r\n'),
    needsSmtpUtf8: false,
    content: '{"html":null,"text":"hello","headers":{}}',
    envid: null,
    ret: null,
    ...over,
    createdAt,
    recipients,
  }
}

/** Accepts one mail and gives it back. */
export const accepted = async (
  store: Store,
  at: TestAccount,
  over: Partial<NewEmail> = {},
): Promise<NewEmail> => {
  const mail = mailFor(at, over)
  const result = await store.accept({ mails: [mail], idempotency: null, now: mail.createdAt })
  if (result !== 'accepted') throw new Error(`accept answered ${result}`)
  return mail
}

export const outcome = (recipientId: string, over: Partial<Outcome> = {}): Outcome =>
  observed({ recipientId, seen: 'accepted', at: T0 + 1000, source: 'smtp', ...over })

export const ofLease = (claimed: Claimed, over: Partial<Outcome> = {}): Outcome =>
  outcome(claimed.recipientId, { leaseGen: claimed.leaseGen, attempt: claimed.attempts + 1, ...over })

export const report = (recipientId: string, over: Partial<Outcome>): Outcome =>
  outcome(recipientId, { source: 'dsn', ...over })

/** Claims the one recipient that is due. */
export const claimOne = async (store: Store, at: TestAccount, now: number): Promise<Claimed> => {
  const claimed = await store.claim(at.poolId, 10, now + HOUR, now)
  const one = claimed[0]
  if (one === undefined || claimed.length !== 1) throw new Error(`claimed ${claimed.length}, expected 1`)
  return one
}

export const scopeOf = (at: TestAccount, mode: Mode | null = null): EmailScope => ({
  accountId: at.accountId,
  workspaceId: at.workspace.id,
  mode,
})

export const filterOf = (at: TestAccount, over: Partial<EmailFilter> = {}): EmailFilter => ({
  accountId: at.accountId,
  workspaceId: at.workspace.id,
  mode: null,
  status: null,
  to: null,
  tag: null,
  createdAfter: null,
  createdBefore: null,
  ...over,
})

export const page = (over: Partial<Page> = {}): Page => ({
  limit: 20,
  direction: 'older',
  anchor: null,
  countUpTo: 0,
  ...over,
})

/** The types of an email's timeline, oldest first; `!` marks what was not applied. */
export const timeline = async (store: Store, emailId: string): Promise<string[]> =>
  (await store.events(emailId, page({ limit: 100 }))).rows
    .map((event) => `${event.type.replace('email.', '')}${event.applied ? '' : '!'}`)
    .reverse()

export const statusOf = async (store: Store, at: TestAccount, emailId: string): Promise<string | undefined> =>
  (await store.email(scopeOf(at), emailId))?.status

/** What comes after a mark, or from the oldest that can be followed; null: of whoever. */
export const follow = async (
  store: Pick<Store, 'follow' | 'readLog' | 'logEnds'>,
  filter: LogFilter | WholeLog | null,
  after: string | null,
  limit: number,
): Promise<Followed | 'gone'> =>
  filter === null
    ? store.readLog('log', after ?? (await store.logEnds()).oldest, null, limit)
    : store.follow(filter, after, limit)

/** Adds the next mails to the index of words, at most so many; how many. */
export const indexMails = async (store: Reading, limit: number): Promise<number> => {
  const { search } = await store.readPlaces()
  const part = await store.readLog('mails', search ?? '1', null, limit)
  if (part === 'gone' || part.mails.length === 0) return 0
  const { mails, mark: to } = part
  return (await store.keepRead({ to, search: { from: search, mails } })) === null ? 0 : mails.length
}

/** What changed of alarms; nothing, from another mark than the stored one. */
export const foldAlarms = async (
  store: Store,
  { to, ...alarms }: Added<'alarms'> & { readonly to: string },
): Promise<readonly AlarmTurn[]> => (await store.keepRead({ to, alarms })) ?? []
