/**
 * The door over the real stages: SQLite in a folder of its own, tenant/,
 * submission/. Nothing relays. Each dialogue has a fresh account, with one
 * workspace of each kind and a key for each.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { loadPepper } from '../../src/keys/pepper.js'
import { createSubmissionDoor } from '../../src/smtp/submission-door.js'
import type { Store } from '../../src/store/port/store.js'
import { createSubmission } from '../../src/submission/submission.js'
import type { TenantDeps } from '../../src/tenant/principal.js'
import { createTenants } from '../../src/tenant/tenants.js'
import { createAccount } from '../../src/tenant/workspace.js'
import { limitsWith } from '../parts/settings.js'
import { openStoreIn } from '../parts/store.js'
import { certificate, LISTENERS } from '../smtp/doors.js'

// failed logins are counted by the minute: here, it begins with the file
const early = systemClock.now() % 60_000
const clock = { now: () => systemClock.now() - early, tick: () => systemClock.tick() }
const HOSTNAME = 'mx.postern.test'
const LIMITS = limitsWith({ message_size: 100_000, recipients: 5, connections: 50, idle: 5_000 })

let shared: Promise<{ store: Store; deps: TenantDeps; dataDir: string }> | null = null

const openStore = async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-dialogue-'))
  const store = await openStoreIn(dataDir)
  await store.open()
  await store.migrate()
  const deps = {
    store,
    pepper: loadPepper({ data_dir: dataDir }),
    clock,
    perMinute: 600,
    authFailures: 3,
  }
  const { id } = await createAccount(deps, 'printers')
  // one for all dialogues: bcrypt takes its time
  await createTenants(deps).createCredential(id, {
    workspace: 'default',
    username: 'printer',
    password: 'old secret',
  })
  return { store, deps, dataDir }
}

/** For the end of a test file. */
export const closeStore = async (): Promise<void> => {
  if (shared === null) return
  const { store, dataDir } = await shared
  shared = null
  await store.close()
  rmSync(dataDir, { recursive: true })
}

type Tenants = ReturnType<typeof createTenants>

/** The keys and names that dialogues use. */
const furnish = async (tenants: Tenants, account: string) => {
  const { id } = await tenants.findWorkspace(account, 'default')
  await tenants.createWorkspace(account, { name: 'Strict', slug: 'strict', lineEndings: 'strict' })
  const own = { name: 'Own', slug: 'own', restrictSenders: true, defaultFrom: 'app@own.test' }
  await tenants.createWorkspace(account, own)
  const ids = new Map<string, string>()
  const words: Record<string, string> = { WORKSPACE: id, PRINTER: 'printer' }
  const key = async (name: string, workspace: string | null, rateLimitPerMinute: number | null = null) => {
    const wish = { name, mode: 'test', workspace, rateLimitPerMinute } as const
    const { row, secret } = await tenants.createKey(account, wish)
    ids.set(name, row.id)
    words[name] = secret
  }
  await key('KEY', 'default')
  await key('ONCE', 'default', 1)
  await key('STRICT', 'strict')
  await key('OWN', 'own')
  await key('PLATFORM', null)
  return { words, ids }
}

export const openProduct = async () => {
  shared ??= openStore()
  const { store, deps } = await shared
  const tenants = createTenants(deps)
  const { id: account } = await createAccount(deps, 'dialogue')
  const { words, ids } = await furnish(tenants, account)
  const stored = async () =>
    (await store.depth()).reduce((sum, { due, leased, waiting }) => sum + due + leased + waiting, 0)
  const before = await stored()
  let full = false
  const door = createSubmissionDoor({
    config: { hostname: HOSTNAME, submission: [LISTENERS.clear], limits: LIMITS },
    certificate: await certificate(),
    tenants,
    submission: createSubmission({
      store,
      config: { hostname: HOSTNAME, limits: LIMITS, default_from: null },
      clock,
      accepting: () => !full,
    }),
    clock,
    log: silentLog(),
  })
  await door.start()
  return {
    port: door.addresses[0]?.port ?? 0,
    words,
    revoke: (name: string) => tenants.revokeKey(account, ids.get(name) ?? ''),
    count: async () => (await stored()) - before,
    fill: (now: boolean) => {
      full = now
    },
    close: () => door.stop(),
  }
}
