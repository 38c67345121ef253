/**
 * NAME      reads-of-all - what two stores say of all that they keep
 * DESCRIPTION
 *   Every read of the port that lists or shows rows, asked of both. Marks of pages are each engine's own. What an
 *   engine cannot answer yet is named.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Page, Rows } from '../../src/lifecycle/page.js'
import type { LogRow } from '../../src/store/port/log.js'
import type { Store } from '../../src/store/port/store.js'
import { page } from './fixture.js'

/** Of each third account as many are looked at one by one; some tests leave thousands that are alike. */
const MAILS = 5

const OWN: ReadonlySet<string> = new Set(['older', 'newer', 'mark'])

const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !OWN.has(key))
      .map(([key, field]) => [key, plain(field)]),
  )
}

const pagesOf = async <Row>(read: (page: Page) => Promise<Rows<Row>>, limit = 100): Promise<Rows<Row>[]> => {
  const pages: Rows<Row>[] = []
  for (let anchor: string | null = null; ; ) {
    const got = await read(page({ limit, anchor, countUpTo: 1000 }))
    pages.push(got)
    if (!got.hasOlder) return pages
    anchor = got.older
  }
}

const EVERY_ENTRY = {
  ...{ action: null, actorId: null, objectId: null, workspaceId: null },
  ...{ since: null, until: null },
}

/** The port gives these in no order. */
const inOrder = (rows: readonly unknown[]): readonly unknown[] =>
  [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

type Read = (store: Store) => Promise<unknown>

/** Of one account, by name. */
const ofAccount = (accountId: string): Readonly<Record<string, Read>> => {
  const scope = { accountId, workspaceId: null, mode: null }
  const all = { ...scope, status: null, to: null, tag: null, createdAfter: null, createdBefore: null }
  const log = { ...scope, accountWide: true, createdAfter: null, createdBefore: null, types: null }
  const queue = { accountId, workspaceId: null, poolId: null, domain: null, emailId: null }
  return {
    workspaces: (store) => pagesOf((page) => store.workspaces(accountId, page)),
    keys: (store) => pagesOf((page) => store.keys(accountId, page)),
    credentials: (store) => pagesOf((page) => store.credentials(accountId, page)),
    pools: (store) => pagesOf((page) => store.pools(accountId, page)),
    users: (store) => pagesOf((page) => store.users(accountId, page)),
    sessions: (store) => pagesOf((page) => store.sessions(accountId, null, page)),
    invitations: (store) => pagesOf((page) => store.links(accountId, 'invitation', page)),
    domains: (store) => pagesOf((page) => store.domains(accountId, page)),
    jobs: (store) => pagesOf((page) => store.jobs(accountId, page, null)),
    lots: (store) => store.lots(accountId),
    holds: (store) => store.holds(accountId),
    emails: (store) => pagesOf((page) => store.emails(all, page)),
    log: (store) =>
      pagesOf<LogRow>((page) => store.log({ ...log, emailId: null, recipient: null, change: null }, page)),
    queueCount: (store) => store.queueCount(queue),
    queueEntries: (store) =>
      pagesOf((page) => store.queueEntries({ ...queue, state: null, liveOnly: false }, page)),
    endpoints: (store) => pagesOf((page) => store.endpoints(scope, page)),
    audit: (store) => pagesOf((page) => store.audit(accountId, EVERY_ENTRY, page)),
  }
}

const ofMail = (accountId: string, id: string): Readonly<Record<string, Read>> => ({
  email: (store) => store.email({ accountId, workspaceId: null, mode: null }, id),
  content: (store) => store.content(id),
  body: (store) => store.body(id),
  events: (store) => pagesOf((page) => store.events(id, page)),
  trace: (store) => store.trace(id),
  lastWords: (store) => store.lastWords([id]),
})

const OF_ALL: Readonly<Record<string, Read>> = {
  accounts: (store) => store.accounts(),
  allPools: (store) => store.allPools(),
  allDomains: (store) => store.allDomains(),
  credentialsByRange: (store) => store.credentialsByRange(),
  allEndpoints: (store) => store.allEndpoints(),
  replays: (store) => store.replays(),
  runningJobs: (store) => store.runningJobs(),
  openIncidents: (store) => store.openIncidents(),
  outages: (store) => store.outages(),
  warmupDays: (store) => store.warmupDays(),
  pepperMark: (store) => store.pepperMark(),
  // an index that was moved is made anew
  readPlaces: async (store) => ({ ...(await store.readPlaces()), search: null }),
  standingAlarms: (store) => store.standingAlarms(),
  nextDue: (store) => store.nextDue(),
  depth: async (store) => inOrder(await store.depth()),
  heldDepth: async (store) => inOrder(await store.heldDepth()),
  pendingDsns: (store) => store.pendingDsns(Number.MAX_SAFE_INTEGER, 100),
}

/** All of it by name, as JSON, with so many mails one by one. */
export const readAll = async (store: Store, mails: number): Promise<Readonly<Record<string, unknown>>> => {
  const found: Record<string, unknown> = {}
  const ask = async (reads: Readonly<Record<string, Read>>, of: string): Promise<void> => {
    for (const [name, read] of Object.entries(reads)) found[`${name} ${of}`] = plain(await read(store))
  }
  await ask(OF_ALL, 'of all')
  for (const { id: accountId } of await store.accounts()) {
    await ask(ofAccount(accountId), accountId)
    const filter = { accountId, workspaceId: null, mode: null, status: null, to: null, tag: null }
    const all = { ...filter, createdAfter: null, createdBefore: null }
    for (const { id } of (await store.emails(all, page({ limit: mails }))).rows)
      await ask(ofMail(accountId, id), id)
  }
  return JSON.parse(JSON.stringify(found))
}

/** What they say differently, and what the second cannot say. */
export const differences = async (a: Store, b: Store) => {
  const differ: string[] = []
  const missing = new Set<string>()
  const compare = async (name: string, read: Read): Promise<void> => {
    const [one, other] = await Promise.all([read(a), read(b).catch((error: unknown) => error)])
    if (other instanceof Error) {
      if (!/not done by PostgreSQL yet/.test(other.message)) throw other
      missing.add(name.split(' ')[0] as string)
    } else if (!isDeepStrictEqual(plain(one), plain(other))) differ.push(name)
  }
  const compareAll = (reads: Readonly<Record<string, Read>>, of: string): Promise<unknown> =>
    Promise.all(Object.entries(reads).map(([name, read]) => compare(`${name} ${of}`, read)))
  await compareAll(OF_ALL, 'of all')
  let mails = 0
  const accounts = (await a.accounts()).filter((_, i) => i % 3 === 0)
  for (const { id: accountId } of accounts) {
    await compareAll(ofAccount(accountId), accountId)
    const filter = { accountId, workspaceId: null, mode: null, status: null, to: null, tag: null }
    const found = await a.emails(
      { ...filter, createdAfter: null, createdBefore: null },
      page({ limit: MAILS }),
    )
    mails += found.rows.length
    await Promise.all(found.rows.map(({ id }) => compareAll(ofMail(accountId, id), id)))
  }
  return { differ, missing: [...missing].sort(), mails }
}
