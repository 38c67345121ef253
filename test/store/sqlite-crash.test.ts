/**
 * kill -9 at each named point: what was promised is there, what was not promised
 * is whole or absent, and only a journaled attempt is ambiguous.
 */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sumOf, volume } from '../../src/statistics/counters.js'
import type { Store } from '../../src/store/port/store.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { countAll } from '../parts/counted.js'
import { HOUR, page, timeline } from './fixture.js'

const CHILD = join(import.meta.dirname, 'crash-child.js')
const HIT = 3

interface Remains {
  readonly accepted: readonly string[]
  readonly settled: readonly string[]
  readonly broken: readonly string[]
}

/**
 * Runs the child under a limit on file size (512-byte blocks) until it ends.
 * NODE_OPTIONS carries the hooks of the test runner, which would turn the signal
 * of that limit into death.
 */
const run = async (args: readonly string[], blocks: string): Promise<Remains & { readonly end: unknown }> => {
  const shell = [
    '-c',
    `unset NODE_OPTIONS; ulimit -f ${blocks}; exec "$0" "$@"`,
    process.execPath,
    CHILD,
    ...args,
  ]
  const child = spawn('/bin/sh', shell, { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stderr.resume()
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const end = await new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
  const of = (what: string): string[] =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${what} `))
      .map((line) => line.slice(what.length + 1))
  return { accepted: of('accepted'), settled: of('settled'), broken: of('broken'), end }
}

const runToDeath = async (
  dataDir: string,
  point: string,
  ambiguous: string,
  bytes = '',
  hit = HIT,
): Promise<Remains> => {
  const remains = await run([dataDir, point, String(hit), ambiguous, bytes], 'unlimited')
  if (remains.end !== 'SIGKILL') throw new Error(`the child ended by ${remains.end}, not by SIGKILL`)
  return remains
}

const reopen = async (t: Test, dataDir: string): Promise<Store> => {
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  return store
}

/** The pool that the child sends through. */
const sandboxOf = async (store: Store): Promise<string> => {
  const pool = await store.pool((await store.accounts())[0]?.id ?? '', 'sandbox')
  if (pool === null) throw new Error('no sandbox pool')
  return pool.id
}

const emailsOf = async (store: Store) => {
  const accountId = (await store.accounts())[0]?.id ?? ''
  const filter = {
    accountId,
    workspaceId: null,
    mode: null,
    status: null,
    to: null,
    tag: null,
    createdAfter: null,
    createdBefore: null,
  }
  return (await store.emails(filter, page({ limit: 10_000 }))).rows
}

interface Expectation {
  readonly point: string
  readonly accepted: number
  readonly stored: number
  readonly settled: number
  /** Emails whose status says sent: the commit of a settle may have come before the promise. */
  readonly ambiguous: number
  readonly released: number
}

const EXPECTED: readonly Expectation[] = [
  { point: 'accept.before-commit', accepted: 2, stored: 2, settled: 2, ambiguous: 0, released: 0 },
  { point: 'accept.after-commit', accepted: 2, stored: 3, settled: 2, ambiguous: 0, released: 0 },
  { point: 'attempting.before-commit', accepted: 3, stored: 3, settled: 2, ambiguous: 0, released: 1 },
  { point: 'attempting.after-commit', accepted: 3, stored: 3, settled: 2, ambiguous: 1, released: 0 },
  { point: 'settle.before-commit', accepted: 3, stored: 3, settled: 2, ambiguous: 1, released: 0 },
]

for (const expected of EXPECTED) {
  t.test(`killed at ${expected.point}`, async (t) => {
    const dataDir = t.testdir()
    const promised = await runToDeath(dataDir, expected.point, 'retry')
    const store = await reopen(t, dataDir)
    const emails = await emailsOf(store)
    t.equal(promised.accepted.length, expected.accepted)
    t.equal(promised.settled.length, expected.settled)
    t.equal(emails.length, expected.stored)
    for (const id of promised.accepted) t.ok(emails.some((email) => email.id === id))
    for (const id of promised.settled) t.equal(emails.find((email) => email.id === id)?.status, 'sent')
    const { ambiguous, released } = expected
    t.same(await store.recover('earlier', Date.now()), { ambiguous, released })
    t.same(await store.recover('earlier', Date.now()), { ambiguous: 0, released: 0 }, 'once')
    const waiting = await store.claim(await sandboxOf(store), 10, Date.now() + HOUR, Date.now())
    t.equal(waiting.length, expected.stored - expected.settled, 'nothing is stuck')
    t.ok(waiting.every((claimed) => claimed.attempts === ambiguous))
    t.same(await store.check(), [])
  })
}

for (const point of ['keepRead.before-commit', 'keepRead.after-commit']) {
  t.test(`all is counted once and found, killed at ${point}`, async (t) => {
    const dataDir = t.testdir()
    // the first ones bring the marks together, before there is mail
    await runToDeath(dataDir, point, 'retry', '', 6)
    const store = await reopen(t, dataDir)
    const { statistics } = await store.readPlaces()
    t.not(statistics, null, 'some of it was read')
    await countAll(store)
    const emails = await emailsOf(store)
    const accountId = emails[0]?.accountId ?? ''
    const { rows } = await store.statistics(
      {
        ...{ accountId, workspaceId: null, mode: 'live', dimension: 'none', tagName: null, span: 60 },
        ...{ from: 0, to: Date.now() + HOUR },
      },
      null,
    )
    const sums = sumOf(rows)
    t.equal(sums.get(volume('accepted')), emails.length)
    t.equal(sums.get(volume('sent')), emails.filter(({ status }) => status === 'sent').length)
    const query = { terms: [], from: 1, before: null }
    const none = { workspaceId: null, mode: null, status: null, to: null, tag: null }
    const found = await store.searchEmails(
      { ...none, accountId, createdAfter: null, createdBefore: null, subjects: true, query },
      page({ limit: 10_000 }),
    )
    t.same(
      found.rows.map(({ id }) => id),
      emails.map(({ id }) => id),
    )
    t.same(await store.check(), [])
  })
}

const BYTES = 150_000

const BODY_POINTS = [
  'body.before-write',
  'body.after-write',
  'accept.before-commit',
  'accept.after-commit',
  'sweepStep.before-commit',
  'sweepStep.after-commit',
  'body.before-drop',
]

for (const point of BODY_POINTS) {
  t.test(`large bodies, killed at ${point}`, async (t) => {
    const dataDir = t.testdir()
    const { accepted, settled } = await runToDeath(dataDir, point, 'retry', String(BYTES))
    const store = openSqliteStore({ dataDir, daemon: false })
    t.teardown(() => store.close())
    await store.open()
    t.same(await store.check(), [], 'no row speaks of a file that is not there')
    for (const id of accepted) {
      const body = await store.body(id)
      if (body === null) t.ok(settled.includes(id), 'only what was settled is gone')
      else t.equal(body.byteLength, BYTES)
    }
    const files = readdirSync(join(dataDir, 'bodies'), { recursive: true, withFileTypes: true })
    t.ok(files.filter((entry) => entry.isFile()).length <= 2, 'at most one orphan, and the mail under way')
  })
}

t.test('an ambiguous mail is held where the workspace says so', async (t) => {
  const dataDir = t.testdir()
  await runToDeath(dataDir, 'settle.before-commit', 'hold')
  const store = await reopen(t, dataDir)
  t.same(await store.recover('earlier', Date.now()), { ambiguous: 1, released: 0 })
  const held = (await emailsOf(store)).find((email) => email.status === 'queued')
  t.same(await timeline(store, held?.id ?? ''), ['queued', 'sent!'])
  const scope = { accountId: held?.accountId ?? '', workspaceId: null, mode: null }
  t.match((await store.email(scope, held?.id ?? ''))?.recipients, [
    { status: 'queued', reason: 'ambiguous', dueAt: null, attempts: 1 },
  ])
  t.match((await store.events(held?.id ?? '', page())).rows[0], {
    applied: false,
    detail: { ambiguous: true, held: true },
  })
  t.same(await store.claim(await sandboxOf(store), 10, Date.now() + HOUR, Date.now()), [])
})

t.test('a write error breaks the store for good, and nothing promised is lost', async (t) => {
  const dataDir = t.testdir()
  const promised = await run([dataDir, '', '1', 'retry'], '1800')
  t.equal(promised.end, 74)
  t.match(promised.broken, [/SQLITE_IOERR/])
  t.ok(promised.accepted.length > 0)
  const store = await reopen(t, dataDir)
  const emails = await emailsOf(store)
  for (const id of promised.accepted) t.ok(emails.some((email) => email.id === id))
  for (const id of promised.settled) t.equal(emails.find((email) => email.id === id)?.status, 'sent')
})
