/**
 * The real door on a free port, over the real store, tenants and submission. Time
 * is the kit's own, so that windows and expiry can be moved by hand.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/base/clock.js'
import { createDialler, type Lookup } from '../../src/base/dial.js'
import { type Log, silentLog } from '../../src/base/log.js'
import type { Budget } from '../../src/base/memory.js'
import type { Config } from '../../src/config/config.js'
import { readConfig } from '../../src/config/load.js'
import type { HttpDeps } from '../../src/http/deps.js'
import type { createDirect } from '../../src/http/direct.js'
import { createHttp, endpoints, type Http } from '../../src/http/http.js'
import { openApi } from '../../src/http/openapi/document.js'
import { loadPepper } from '../../src/keys/pepper.js'
import type { Store } from '../../src/store/port/store.js'
import { createSubmission, type Submission } from '../../src/submission/submission.js'
import { createTenants, type Tenancy } from '../../src/tenant/tenants.js'
import { openStoreIn } from '../parts/store.js'
import { documented } from './documented.js'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
  readonly json: any
}

export interface Ask {
  readonly method?: string
  readonly key?: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Kit {
  readonly url: string
  readonly port: number
  readonly config: Config
  readonly store: Store
  readonly tenants: Tenancy
  readonly http: Http
  readonly submission: Submission
  readonly clock: Clock & { advance(ms: number): void }
  readonly accountId: string
  /** The default workspace. */
  readonly workspaceId: string
  /** Live key of the default workspace; platform key; session. */
  readonly key: string
  readonly platform: string
  readonly session: string
  ask(path: string, ask?: Ask): Promise<Reply>
  stop(): Promise<void>
}

const handClock = (): Kit['clock'] => {
  let offset = 0
  return {
    now: () => Date.now() + offset,
    tick: () => performance.now() + offset,
    advance(ms) {
      offset += ms
    },
  }
}

export interface Wish {
  readonly perMinute?: number
  readonly authFailures?: number
  readonly maxBody?: number
  readonly memory?: Budget
  readonly requestTimeoutMs?: number
  readonly trustedProxies?: readonly string[]
  readonly lookup?: HttpDeps['lookup']
  /** Where endpoints of webhooks may lie. */
  readonly allowNetworks?: readonly string[]
  /** identity.release_to */
  readonly releaseTo?: readonly string[]
  readonly events?: Config['events']
  readonly viewersSee?: Config['identity']['viewers_see']
  readonly direct?: typeof createDirect | null
  readonly log?: Log
  /** Puts something into the data folder before it is opened. */
  readonly prepare?: (dataDir: string) => void
}

const configFor = (dataDir: string, wish: Wish): Config => {
  const config = readConfig(null)
  return {
    ...config,
    hostname: 'mail.test',
    base_url: 'https://mail.test',
    bounce: { ...config.bounce, domain: 'bounces.mail.test' },
    data_dir: dataDir,
    http: {
      ...config.http,
      host: '127.0.0.1',
      port: 0,
      max_body: wish.maxBody ?? config.http.max_body,
      request_timeout: wish.requestTimeoutMs ?? config.http.request_timeout,
      trusted_proxies: wish.trustedProxies ?? [],
    },
    default_from: null,
    identity: {
      ...config.identity,
      release_to: wish.releaseTo ?? [],
      viewers_see: wish.viewersSee ?? 'subjects',
    },
    events: wish.events ?? config.events,
    rate_limit: { per_minute: wish.perMinute ?? 100_000, auth_failures: wish.authFailures ?? 1_000 },
  }
}

/** Every name is out there, but those that say otherwise; nobody is asked. */
const resolve: Lookup = (name, _options, done) =>
  done(null, [{ address: name.startsWith('private.') ? '10.1.2.3' : '203.0.113.7', family: 4 }])

/** A file asks few of the paths, and the whole document would take it most of a second. */
const all = endpoints({} as HttpDeps, () => 'https://mail.test')
const demandDocumented = documented([...new Set(all.map(({ path }) => path))], (paths) =>
  openApi(
    all.filter(({ path }) => paths.includes(path)),
    'https://mail.test',
    'v1',
  ),
)

export const openKit = async (wish: Wish = {}): Promise<Kit> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-http-'))
  wish.prepare?.(dataDir)
  const config = configFor(dataDir, wish)
  const clock = handClock()
  const store = await openStoreIn(dataDir)
  await store.open()
  const pepper = loadPepper({ data_dir: dataDir })
  const { per_minute: perMinute, auth_failures: authFailures } = config.rate_limit
  const tenants = createTenants({ store, pepper, clock, perMinute, authFailures })
  const { id: accountId } = await tenants.ensureAccount()
  const submission = createSubmission({ store, config, clock, pepper })
  const http = createHttp({
    ...{ store, tenants, submission, config, clock, log: wish.log ?? silentLog(), pepper },
    ...(wish.direct !== undefined && { direct: wish.direct }),
    ...(wish.memory && { memory: wish.memory }),
    lookup: wish.lookup,
    dialler: createDialler({ allow: wish.allowNetworks ?? [], ownPorts: () => [], lookup: resolve }),
  })
  await http.start()
  const { port } = http.address
  const url = `http://127.0.0.1:${port}`
  const { id: workspaceId } = await tenants.findWorkspace(accountId, 'default')
  const { secret: key } = await tenants.createKey(accountId, { name: 'kit', workspace: 'default' })
  const { secret: platform } = await tenants.createKey(accountId, { name: 'platform' })
  const { token: session } = await tenants.createSession(accountId)
  return {
    ...{
      url,
      port,
      config,
      store,
      tenants,
      submission,
      http,
      clock,
      accountId,
      workspaceId,
      key,
      platform,
      session,
    },
    async ask(path, one = {}) {
      const reply = await ask(url + path, { key, ...one })
      demandDocumented(one.method ?? (one.body === undefined ? 'GET' : 'POST'), path, reply)
      return reply
    },
    async stop() {
      await http.stop()
      await store.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** What comes first of an answer that never ends. */
const beginning = async ({ body }: Response): Promise<string> => {
  const reader = body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return Buffer.from(first?.value ?? []).toString()
}

export const ask = async (url: string, { method, key, body, headers }: Ask = {}): Promise<Reply> => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: text }),
    redirect: 'manual',
  })
  const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const answer = isEndless ? await beginning(response) : await response.text()
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text: answer,
    json: isJson && answer !== '' ? JSON.parse(answer) : null,
  }
}

export const MAIL = { from: 'Acme <no-reply@acme.test>', to: 'ana@example.com', subject: 'Hi', text: 'Hello' }

export const fieldsOf = (reply: Reply): string[] =>
  (reply.json.errors ?? []).map((one: { field: string; kind: string }) => `${one.field} ${one.kind}`)
