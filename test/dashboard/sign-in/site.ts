/**
 * The dashboard on a free port over the real store, tenants and API, in this process: time can be moved by hand, and
 * every line of the log is kept.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../../src/base/clock.js'
import { Kept } from '../../../src/base/kept.js'
import { createLog } from '../../../src/base/log.js'
import { readConfig } from '../../../src/config/load.js'
import { createDashboard } from '../../../src/dashboard/dashboard.js'
import { createHttp, type Http } from '../../../src/http/http.js'
import { askThrough } from '../../../src/http/wire/listener.js'
import { loadPepper } from '../../../src/keys/pepper.js'
import type { Store } from '../../../src/store/port/store.js'
import { createSubmission } from '../../../src/submission/submission.js'
import { verifySession } from '../../../src/tenant/people.js'
import type { TenantDeps } from '../../../src/tenant/principal.js'
import { createTenants } from '../../../src/tenant/tenants.js'
import type { CookieClient, Going, Shown } from '../../parts/cookie-client.js'
import { CLIENT_SECRET, Idp, type IdpWish } from '../../parts/oidc.js'
import { openStoreIn, settingsOf } from '../../parts/store.js'

export interface SiteWish {
  /** Of the group identity; providers come as `oidc`. */
  readonly identity?: object
  /** More of the settings of the provider `office`; null: there is none. */
  readonly office?: object | null
  /** Further providers. */
  readonly more?: readonly object[]
  readonly idp?: IdpWish
  readonly baseUrl?: string
  /** What it listens at, and is called where baseUrl says nothing else. */
  readonly host?: string
  /** Milliseconds by which what stands around pages gets old. */
  readonly ticks?: () => number
  /** What its start could not apply. */
  readonly setupFailed?: readonly string[]
}

export interface Site {
  readonly url: string
  /** For the command line, which works on the same data. */
  readonly configFile: string
  readonly idp: Idp
  readonly store: Store
  readonly deps: TenantDeps
  readonly accountId: string
  readonly clock: Clock & { advance(ms: number): void }
  readonly lines: readonly string[]
  /** Whole sign-in at office; what is shown at its end. */
  viaOffice(client: CookieClient, path?: string): Promise<Shown>
  /** Who is signed in with the browser's cookie; null for nobody. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
  who(client: CookieClient): Promise<any>
  get(client: CookieClient, path: string, going?: Going): Promise<Shown>
  stop(): Promise<void>
}

const handClock = (): Site['clock'] => {
  let offset = 0
  return {
    now: () => Date.now() + offset,
    tick: () => performance.now() + offset,
    advance(ms) {
      offset += ms
    },
  }
}

export const openSite = async (wish: SiteWish = {}): Promise<Site> => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-site-'))
  writeFileSync(join(dir, 'secret'), CLIENT_SECRET, { mode: 0o600 })
  const idp = await new Idp(wish.idp).listen()
  const office = {
    name: 'office',
    label: 'Acme',
    issuer: idp.issuer,
    client_id: 'postern',
    client_secret_file: 'secret',
  }
  const oidc = [...(wish.office === null ? [] : [{ ...office, ...wish.office }]), ...(wish.more ?? [])]
  const text = JSON.stringify({
    hostname: 'mail.test',
    data_dir: 'data',
    http: { port: 0, ...(wish.host && { host: wish.host }) },
    identity: { oidc, ...wish.identity },
    ...(wish.baseUrl && { base_url: wish.baseUrl }),
    ...settingsOf(join(dir, 'data')),
  })
  const configFile = join(dir, 'p.yaml')
  writeFileSync(configFile, text)
  const config = readConfig({ name: configFile, text })
  const clock = handClock()
  const store = await openStoreIn(config.data_dir)
  await store.open()
  const pepper = loadPepper(config)
  const { per_minute: perMinute, auth_failures: authFailures } = config.rate_limit
  const deps: TenantDeps = {
    store,
    pepper,
    clock,
    perMinute,
    authFailures,
    sessions: config.identity.session,
    secondFactor: config.identity.second_factor,
  }
  const tenants = createTenants(deps)
  const { id: accountId } = await tenants.ensureAccount()
  const lines: string[] = []
  const log = createLog('debug', { write: (line: string) => void lines.push(line) })
  const kept = new Kept(wish.ticks ? { tick: wish.ticks } : clock)
  const site = createDashboard({
    kept,
    ask: askThrough((request) => http.inject(request)),
    follow: (session, { after, address }) => http.follow(session, after, address),
    baseUrl: () => http.baseUrl,
    addressOf: ({ app }) => app.address,
    ...{ pepper, log, version: 'test', isDev: false, devKey: () => null },
    ...{ tenant: deps, accountId, identity: config.identity, docs: config.docs, isTls: false },
    provePerson: tenants.provePerson,
    proveFactor: tenants.proveFactor,
  })
  const submission = createSubmission({ store, config, clock })
  const http: Http = createHttp({
    ...{ store, tenants, submission, config, clock, log, pepper, site, kept },
    setupFailed: () => wish.setupFailed ?? null,
  })
  await http.start()
  const url = `http://${wish.host ?? '127.0.0.1'}:${http.address.port}`
  await idp.know(wish.baseUrl ?? url, 'office')
  const get: Site['get'] = (client, path, going) => client.go(url + path, going)
  return {
    ...{ url, configFile, idp, store, deps, accountId, clock, lines, get },
    viaOffice: (client, path = '/sign-in/office') => get(client, path, { headers: { accept: 'text/html' } }),
    async who(client) {
      const jar = client.jar(url)
      const token = jar.get('postern_session') ?? jar.get('__Host-postern_session')
      if (token === undefined) return null
      const live = await verifySession(deps, token)
      return live && { role: live.user?.role ?? live.row.role, person: live.user, session: live.row }
    },
    async stop() {
      await http.stop()
      await idp.close()
      await store.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Follows redirects until the browser stands at Postern again, without what comes after that. */
export const backAt = (site: Site): RegExp => new RegExp(`^${site.url}/sign-in/office/callback`)
