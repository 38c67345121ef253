/** A store, the engine over it, and a receiver in a process of its own; time is the test's. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Clock } from '../../../src/base/clock.js'
import { createDialler, type Dialler } from '../../../src/base/dial.js'
import { newId } from '../../../src/base/id.js'
import { silentLog } from '../../../src/base/log.js'
import type { Mode } from '../../../src/lifecycle/page.js'
import type { EndpointRow, EndpointState, ListedPost } from '../../../src/store/port/hooks.js'
import type { LogRow } from '../../../src/store/port/log.js'
import type { Store } from '../../../src/store/port/store.js'
import { newSigningSecret } from '../../../src/webhook/formats.js'
import { createPost } from '../../../src/webhook/post.js'
import { createWebhooks, type WebhookParts } from '../../../src/webhook/webhooks.js'
import { eventually, type Patience } from '../../parts/eventually.js'
import { type RemoteReceiver, remoteReceiver } from '../../parts/remote-receiver.js'
import { openStoreIn } from '../../parts/store.js'
import { endpointFor } from '../../store/contract-hooks.js'
import { mailFor, newAccount, page, type TestAccount } from '../../store/fixture.js'

export const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3600_000, 86_400_000]
export const SECRET = newSigningSecret()

export interface TestClock extends Clock {
  /** Time goes by, on both clocks. */
  pass(ms: number): void
  /** Somebody sets the wall clock. */
  set(by: number): void
}

/** Stands still by itself: on a slow machine nothing is due earlier than a test says. */
const testClock = (): TestClock => {
  const start = Date.now()
  let passed = 0
  let stepped = 0
  return {
    now: () => start + passed + stepped,
    tick: () => passed,
    pass(ms) {
      passed += ms
    },
    set(by) {
      stepped += by
    },
  }
}

/** More than any answer takes, so that no post fails by a slow machine. */
const PATIENT_MS = 240_000
const HASTY_MS = 300

export interface Bench {
  readonly store: Store
  readonly at: TestAccount
  readonly clock: TestClock
  readonly receiver: RemoteReceiver
  /** Paths whose answers are not waited for. */
  readonly hasty: Set<string>
  /** Begins the engine; what it gives ends it in good order. */
  start(over?: Partial<WebhookParts>): Promise<() => Promise<void>>
  /** An endpoint at a path of the receiver, from the end of the log on. */
  add(path: string, over?: Partial<EndpointRow>): Promise<string>
  /** So many mails, each of them one event; their ids, in the order of the log. */
  events(n: number, mode?: Mode): Promise<string[]>
  state(id: string): Promise<EndpointState>
  posts(id: string, failed?: boolean): Promise<readonly ListedPost[]>
  /** All events of the account of one type. */
  logged(type: LogRow['type']): Promise<readonly LogRow[]>
}

export const bench = async (t: Test): Promise<Bench> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-hooks-'))
  const store = await openStoreIn(dataDir)
  await store.open()
  const clock = testClock()
  const receiver = await remoteReceiver(t)
  const [patient, hasty] = [PATIENT_MS, HASTY_MS].map((timeoutMs) =>
    createDialler({ allow: ['127.0.0.0/8'], ownPorts: () => [], timeoutMs }),
  ) as [Dialler, Dialler]
  const hastyPaths = new Set<string>()
  const stops = new Set<() => Promise<void>>()
  t.teardown(async () => {
    for (const stop of stops) await stop()
    await patient.close()
    await hasty.close()
    await store.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const at = await newAccount(store)
  const post = (url: string) => createPost(hastyPaths.has(new URL(url).pathname) ? hasty : patient, clock)
  const filter = {
    accountId: at.accountId,
    workspaceId: null,
    accountWide: true,
    mode: null,
    types: null,
    emailId: null,
    recipient: null,
    change: null,
    createdAfter: null,
    createdBefore: null,
  }
  const logged = async (type: LogRow['type']): Promise<readonly LogRow[]> =>
    (await store.log({ ...filter, types: [type] }, page({ limit: 100_000 }))).rows
  return {
    store,
    at,
    clock,
    receiver,
    hasty: hastyPaths,
    logged,
    async start(over = {}) {
      const service = createWebhooks({
        store,
        clock,
        random: () => 1,
        log: silentLog(),
        post: ({ url, format }, request) =>
          post(url)({ url, format, auth: null, headers: {}, secrets: [SECRET] }, request),
        signMark: (mark) => `signed ${mark}`,
        ...over,
      })
      const stop = async (): Promise<void> => {
        stops.delete(stop)
        await service.stop()
      }
      await service.start()
      stops.add(stop)
      return stop
    },
    async add(path, over = {}) {
      const url = receiver.url(path)
      const now = clock.now()
      const row = endpointFor(at, { id: newId('wh'), url, createdAt: now, updatedAt: now, ...over })
      await store.createEndpoint(row, (await store.logEnds()).newest)
      return row.id
    },
    async events(n, mode = 'live') {
      const mails = Array.from({ length: n }, () => mailFor(at, { mode, createdAt: clock.now() }))
      const known = new Set((await logged('email.queued')).map(({ id }) => id))
      for (let i = 0; i < mails.length; i += 100)
        await store.accept({ mails: mails.slice(i, i + 100), idempotency: null, now: clock.now() })
      const ids = (await logged('email.queued')).map(({ id }) => id)
      return ids.filter((id) => !known.has(id)).reverse()
    },
    state: async (id) =>
      eventually('the endpoint', async () => (await store.endpoint(at.accountId, id))?.state),
    posts: async (id, failed = false) => (await store.posts(id, failed, page({ limit: 100_000 }))).rows,
  }
}

/** Waits until a path has got all of these, whatever it answered; as long as it takes while more arrives. */
export const gotAll = ({ receiver }: Bench, path: string, ids: readonly string[]): Promise<unknown> =>
  eventually(
    `${ids.length} events at ${path}`,
    () => {
      const got = new Set(receiver.idsOf(path))
      return ids.every((id) => got.has(id))
    },
    { seen: () => ({ got: receiver.idsOf(path).length }), moves: () => receiver.idsOf(path).length },
  )

/** Time goes by in steps until something is there, not further than `upTo` (ticks): for what comes at no certain time. */
export const passUntil = (
  b: Bench,
  what: string,
  step: number,
  isThere: () => boolean | Promise<boolean>,
  { upTo = Number.POSITIVE_INFINITY, ...patience }: Patience & { readonly upTo?: number } = {},
): Promise<unknown> =>
  eventually(
    what,
    async () => {
      if (await isThere()) return true
      if (b.clock.tick() < upTo) b.clock.pass(step)
      return false
    },
    patience,
  )

/** Waits until an endpoint is stored as healthy, or failing. */
export const isHealth = (b: Bench, id: string, health: string): Promise<unknown> =>
  eventually(health, async () => (await b.state(id)).health === health, { seen: () => b.state(id) })

/** Waits until the answers to these are stored, and not only sent: what stops now repeats none of them. */
export const listedAll = (b: Bench, id: string, ids: readonly string[]): Promise<unknown> => {
  const listed = async () => new Set((await b.posts(id)).map(({ eventId }) => eventId))
  return eventually('all is listed', async () => {
    const known = await listed()
    return ids.every((one) => known.has(one))
  })
}
