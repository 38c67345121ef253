/**
 * NAME      fill - a week of mail in an empty folder
 *   Makes two tenants with their pools, keys, people and webhooks, sends what the plan says, and moves the clock from
 *   step to step. Only `postern dev --demo` calls it, for a folder of its own that was not there before.
 *   What the daemon runs in threads by the clock of the machine runs here in one thread by a clock that is moved ahead:
 *   submission, the relay's flow, the sandbox that all of it goes to, and those who follow the log. Nothing of a mail is
 *   made up: it is accepted, leased, spoken over SMTP, settled, reported and posted by the code that does so every day.
 * NOTES
 *   Wall time and ticks move together, so that no part takes a move for a clock that was set.
 */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '../base/clock.js'
import { diallerOf } from '../base/dial.js'
import { makeDataFolder } from '../base/folder.js'
import { createGiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import { type Service, startAll, stopAll } from '../base/service.js'
import type { Config } from '../config/config.js'
import { followersOf } from '../followers/reader.js'
import { demoMark, loadPepper } from '../keys/pepper.js'
import { bringRing, liveKeys } from '../keys/return-path.js'
import type { Settled } from '../lifecycle/facts.js'
import { makeRef, makeReturnPath, REF_HEADER } from '../mail/return-path.js'
import type { Status } from '../mail/status.js'
import { logIncident, suppressLater } from '../outcome/suppress.js'
import { Flow } from '../relay/flow.js'
import { Journal } from '../relay/journal.js'
import { Pools } from '../relay/pools.js'
import { RFC_TIMEOUTS } from '../relay/settings.js'
import { createSandbox } from '../sandbox/sandbox.js'
import { simulationFor } from '../sandbox/simulation.js'
import { openStore, reachStore, shareStore } from '../store/open.js'
import type { EmailRecord } from '../store/port/mail.js'
import type { Store } from '../store/port/store.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import { toDraft } from '../submission/draft.js'
import { createSubmission } from '../submission/submission.js'
import { createKey } from '../tenant/key.js'
import { holdQueue } from '../tenant/orders.js'
import { createLink, createPerson } from '../tenant/people.js'
import { createPool, updatePool } from '../tenant/pool.js'
import type { Principal, TenantDeps } from '../tenant/principal.js'
import { addSuppression, listOfWorkspace } from '../tenant/suppression.js'
import { createWorkspace, ensureAccount } from '../tenant/workspace.js'
import { createEndpoint } from '../webhook/endpoints.js'
import { type PlannedMail, planWeek, seeded, slowed, type Tenant, WEEK_MS } from './plan.js'

/** For what the sandbox does slowly, or later. */
const PACE_MS = 20
const LOOK_MS = 4
const PATIENCE_MS = 20_000

interface MovedClock extends Clock {
  /** Time goes on from there; it never goes back. */
  moveTo(at: number): void
}

const movedClock = (from: number): MovedClock => {
  let ahead = from - Date.now()
  let moved = 0
  return {
    now: () => Date.now() + ahead,
    tick: () => performance.now() + moved,
    moveTo(at) {
      const by = Math.max(0, Math.round(at) - Date.now() - ahead)
      ahead += by
      moved += by
    },
  }
}

interface StageParts {
  readonly store: Store
  readonly config: Config
  readonly pepper: Uint8Array
  readonly clock: MovedClock
  readonly log: Log
  /** The same numbers each time. */
  readonly random: () => number
}

const isUnderWay = (address: string, status: Status): boolean =>
  status === 'queued' || (status === 'sent' && simulationFor(address).steps.length > 0)

const watchSettled = (store: Pick<Store, 'onSettled'>) => {
  const statuses = new Map<string, Status>()
  const awaited = new Set<string>()
  const off = store.onSettled((settled: readonly Settled[]) => {
    for (const { emailId, address, to, applied } of settled) {
      if (!applied) continue
      const key = `${emailId} ${address}`
      statuses.set(key, to)
      if (isUnderWay(address, to)) awaited.add(key)
      else awaited.delete(key)
    }
  })
  return {
    off,
    /** A mail was accepted; what was settled before that was told is known. */
    accepted(emailId: string, addresses: readonly string[]): void {
      for (const address of addresses) {
        const key = `${emailId} ${address}`
        if (isUnderWay(address, statuses.get(key) ?? 'queued')) awaited.add(key)
      }
    },
    awaited,
  }
}

const SANDBOX = { kind: 'sandbox', follows: null } as const

/** The relay as its thread wires it, for upstreams that are all the sandbox. */
const relayOf = async (parts: StageParts, sandbox: ReturnType<typeof createSandbox>) => {
  const { store, config, pepper, clock, log, random } = parts
  const { hostname, bounce, relay } = config
  const queue = await reachStore(shareStore(store, 'relay'))
  const { keys } = await liveKeys(queue, pepper)
  const tell = (level: 'info' | 'warn' | 'error', fact: string, fields: object): void =>
    log[level](fields, fact)
  const pools = new Pools({
    ...{ hostname, timeouts: RFC_TIMEOUTS, idle: 30_000, patience: PATIENCE_MS, tick: clock.tick },
    ...{ sandboxAddress: () => sandbox.address, log: tell },
    unseal: () => '',
    tokens: () => {
      throw new Error('the sandbox asks for no sign-in')
    },
  })
  const way = createGiveWay()
  const flow = new Flow({
    ...{ queue, way, pools, random, settings: { ...relay, drain: PATIENCE_MS, quiet: true } },
    journal: new Journal(queue, (error) =>
      log.error({ error: error.message }, 'store does not take outcomes'),
    ),
    steadySince: () => 0,
    dead: suppressLater({ store: queue, clock, begun: logIncident(log), log }),
    unknownPool: () => {},
    log: tell,
    around: {
      ...{ now: clock.now, tick: clock.tick, receivedToken: `by ${hostname} with `, crash: () => {} },
      returnPath: (claimed) => makeReturnPath(keys, bounce.domain, claimed),
      envid: (claimed) => makeRef(keys, 'envid', claimed),
      ref: (claimed) => `${REF_HEADER}: ${makeRef(keys, 'complaint', claimed)}\r\n`,
    },
  })
  const renew = async (): Promise<void> => {
    pools.update((await queue.allPools()).map((row) => ({ ...row, ...SANDBOX })))
    flow.announce()
  }
  const service: Service = {
    name: 'relay',
    async start() {
      await renew()
      flow.start()
    },
    async stop() {
      await flow.stop()
      await queue.close()
    },
  }
  const ids = () => [...pools.all()].map(({ row }) => row.id)
  return { flow, service, renew, nextDue: () => queue.nextDue(ids()) }
}

type Relay = Awaited<ReturnType<typeof relayOf>>

/** Whether a moment is over, and the way to the next one. */
const momentsOf = (relay: Relay, clock: MovedClock, awaited: ReadonlySet<string>) => {
  const rest = async (): Promise<void> => {
    const began = performance.now()
    for (;;) {
      const { inFlight, waiting } = relay.flow.measure()
      const isBusy = awaited.size > 0 || inFlight > 0 || waiting > 0
      if (!isBusy && ((await relay.nextDue()) ?? Number.POSITIVE_INFINITY) > clock.now()) return
      if (performance.now() - began > PATIENCE_MS)
        throw new Error(`mail of the demo did not come to rest: ${[...awaited].slice(0, 3).join(', ')}`)
      await sleep(1)
    }
  }

  return {
    rest,
    async goOn(to: number): Promise<void> {
      for (let due = await relay.nextDue(); due !== null && due < to; due = await relay.nextDue()) {
        clock.moveTo(due)
        relay.flow.look()
        await rest()
      }
      clock.moveTo(to)
    },
  }
}

const startStages = async (parts: StageParts) => {
  const { store, config, pepper, clock, log } = parts
  const sandbox = createSandbox({ hostname: config.hostname, store, log, pace: PACE_MS })
  await sandbox.start()
  const watched = watchSettled(store)
  const relay = await relayOf(parts, sandbox)
  const reading = await reachStore(shareStore(store, 'followers'))
  const followers = await followersOf({
    ...{ store: reading, config, pepper, log, clock, capture: true, rules: () => [] },
    ...{ way: createGiveWay(), reported: () => {}, sandbox: { look: LOOK_MS, pace: PACE_MS } },
  })
  const services = [...followers, relay.service]
  await startAll(services)

  return {
    ...momentsOf(relay, clock, watched.awaited),
    accepted: watched.accepted,
    renew: relay.renew,
    async stop(): Promise<void> {
      watched.off()
      await stopAll([sandbox, ...services], ({ name }, error) =>
        log.error({ service: name, error: error.message }, 'stop failed'),
      )
      await reading.close()
    },
  }
}

type Stages = Awaited<ReturnType<typeof startStages>>

const HOUR = 3_600_000
const MANY = 1_000_000

/** What two programs of customers listen on: one that answers, and one that has been failing since yesterday. */
const startCustomers = async (isFailing: () => boolean) => {
  const server = createServer(({ url }, response) => {
    response.statusCode = url === '/crm/mail' && isFailing() ? 503 : 204
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

type Customers = Awaited<ReturnType<typeof startCustomers>>

interface Sender {
  readonly workspace: WorkspaceRow
  readonly principal: Principal
}

type Senders = Readonly<Record<Tenant, Sender>>

const NAMES = {
  shop: { name: 'Nordwind Shop', slug: 'shop', pool: 'own-servers', key: 'shop backend' },
  power: { name: 'Lumen Power', slug: 'power', pool: 'provider', key: 'billing run' },
} as const

const senderOf = async (deps: TenantDeps, accountId: string, tenant: Tenant): Promise<Sender> => {
  const { name, slug, pool, key } = NAMES[tenant]
  const workspace = await createWorkspace(deps, accountId, { name, slug, pool })
  const { row } = await createKey(deps, accountId, { name: key, workspace: slug, rateLimitPerMinute: MANY })
  return {
    workspace,
    principal: {
      ...{ accountId, via: 'key', id: row.id, scope: 'workspace', workspaceId: workspace.id, mode: 'live' },
      ...{ limitPerMinute: MANY, role: null, person: null },
      actor: { kind: 'key', id: row.id, name: key },
    },
  }
}

/** Pools, workspaces, keys and people, as the week begins. */
const settle = async (deps: TenantDeps): Promise<Senders> => {
  const { id } = await ensureAccount(deps)
  const member = (host: string) => ({ host, port: 587, tls: 'required' as const })
  const own = [member('mta1.nordwind.example'), member('mta2.nordwind.example')]
  await createPool(deps, id, { name: 'own-servers', members: own })
  await updatePool(deps, id, 'default', { members: own })
  await createPool(deps, id, { name: 'provider', members: [member('smtp.provider.example')] })
  const senders = { shop: await senderOf(deps, id, 'shop'), power: await senderOf(deps, id, 'power') }
  const people = [
    ['ana@nordwind.example', 'Ana Berg', 'owner'],
    ['bo@nordwind.example', 'Bo Larsen', 'member'],
    ['chen@lumen.example', 'Chen Wei', 'member'],
    ['dara@lumen.example', 'Dara Quinn', 'viewer'],
  ] as const
  for (const [email, name, role] of people) await createPerson(deps, id, { email, name, role })
  const invited = { kind: 'invitation', role: 'member', email: 'eva@nordwind.example' } as const
  await createLink(deps, id, { ...invited, createdBy: 'ana@nordwind.example' })
  return senders
}

const addWebhooks = async (
  { deps, store, config }: Filling,
  { shop }: Senders,
  { base }: Customers,
): Promise<void> => {
  const dialler = diallerOf(config)
  const hooks = { store, pepper: deps.pepper, clock: deps.clock, dialler }
  const { accountId, id: workspaceId } = shop.workspace
  const owner = { accountId, workspaceId, mode: 'live' } as const
  const events = ['email.bounced', 'email.complained']
  await createEndpoint(hooks, owner, { url: `${base}/orders/mail`, events })
  await createEndpoint(hooks, owner, { url: `${base}/crm/mail`, events: [...events, 'email.deferred'] })
  await dialler.close()
}

interface Filling {
  readonly store: Store
  readonly config: Config
  readonly deps: TenantDeps
  readonly clock: Clock
}

const sending = (
  { store, config, clock }: Omit<Filling, 'deps'>,
  senders: Senders,
  accepted: Stages['accepted'] = () => {},
) => {
  const submission = createSubmission({ store, config, clock, spans: null })
  return async ({ tenant, draft }: PlannedMail, goes = true): Promise<string> => {
    const { principal, workspace } = senders[tenant]
    let made: readonly EmailRecord[] = []
    await submission.submit(principal, workspace, toDraft(draft), {
      idempotency: null,
      render(records) {
        made = records
        return { status: 202, body: '' }
      },
    })
    const [mail] = made as [EmailRecord]
    const queued = mail.recipients.filter(({ status }) => goes && status === 'queued')
    accepted(
      mail.id,
      queued.map(({ address }) => address),
    )
    return mail.id
  }
}

type Send = ReturnType<typeof sending>

/** What waits when the week is over: mail for tomorrow, mail that was canceled, mail that a person holds. */
const addWaiting = async (
  { store, deps, clock }: Filling,
  { shop, power }: Senders,
  send: Send,
): Promise<void> => {
  const at = new Date(clock.now() + 18 * HOUR).toISOString()
  const some = planWeek().flatMap(({ mails }) => mails.filter(({ tenant }) => tenant === 'power'))
  const later = some.slice(0, 5).map((one) => ({ ...one, draft: { ...one.draft, scheduled_at: at } }))
  const ids: string[] = []
  for (const one of later) ids.push(await send(one))
  const { accountId, id: workspaceId } = power.workspace
  for (const id of ids.slice(3)) await store.cancel({ accountId, workspaceId, mode: 'live' }, id, clock.now())
  const scope = { accountId, workspaceId: shop.workspace.id, poolId: null, emailId: null }
  await holdQueue({ store, clock }, { ...scope, domain: 'kontor.example' }, 'Their server moves today')
  const held = planWeek().flatMap(({ mails }) => mails.filter(isForKontor))
  for (const one of held.slice(0, 4)) await send(one, false)
  const wish = { email: 'press@freemail.example', reason: 'asked us to stop' }
  await addSuppression(deps, listOfWorkspace(shop.workspace, 'live'), wish)
}

const isForKontor = ({ tenant, draft }: PlannedMail): boolean =>
  tenant === 'shop' && /<[a-z.0-9]+@kontor\.example>/.test(String(draft.to))

/** The webhook of the CRM fails from here on. */
const FAILS = 27 * HOUR

export interface Filled {
  readonly customers: Customers
  /** Sends what a provider wants to get more slowly, through the daemon that has this store. */
  slowDown(store: Store): Promise<void>
}

const SOON_MS = 1_000

const fillWeek = async (filling: Filling, stages: Stages, end: number): Promise<Filled> => {
  const { clock } = filling
  const customers = await startCustomers(() => clock.now() > end - FAILS)
  const senders = await settle(filling.deps)
  await stages.renew()
  await addWebhooks(filling, senders, customers)
  const send = sending(filling, senders, stages.accepted)
  for (const { before, mails } of planWeek()) {
    await stages.goOn(end - before)
    await Promise.all(mails.map((one) => send(one)))
    await stages.rest()
  }
  await stages.goOn(end)
  await addWaiting(filling, senders, send)
  return {
    customers,
    async slowDown(store) {
      const live = sending({ ...filling, store, clock: systemClock }, senders)
      const [first, ...others] = slowed()
      if (first !== undefined) await live(first)
      // the first one is refused before they come
      await sleep(SOON_MS)
      for (const one of others) await live(one)
    },
  }
}

interface DemoOptions {
  readonly config: Config
  readonly version: string
  readonly log: Log
}

/** Fills the data folder of a configuration, where nothing is, up to this moment. */
export const fillDemo = async ({ config, version, log }: DemoOptions): Promise<Filled> => {
  const end = Date.now()
  const clock = movedClock(end - WEEK_MS)
  makeDataFolder(config.data_dir)
  writeFileSync(demoMark(config), '{}\n', { mode: 0o600 })
  const pepper = loadPepper(config, { credentials: undefined, firstRun: true })
  const store = await openStore({ place: config, daemon: true, log, version })
  await store.open()
  try {
    await store.migrate()
    const deps: TenantDeps = { store, pepper, clock, perMinute: MANY, authFailures: MANY }
    await ensureAccount(deps)
    await bringRing(store, config.data_dir)
    const stages = await startStages({ store, config, pepper, clock, log, random: seeded(1) })
    try {
      return await fillWeek({ store, config, deps, clock }, stages, end)
    } finally {
      await stages.stop()
    }
  } finally {
    await store.close()
  }
}
