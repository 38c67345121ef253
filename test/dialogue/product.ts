/**
 * The door over the real stages: SQLite in a fresh folder, tenant/, submission/.
 * Nothing relays. One workspace of each kind, and a key for each.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { loadPepper } from '../../src/base/secret.js'
import { createSubmissionDoor } from '../../src/smtp/submission-door.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { createSubmission } from '../../src/submission/submission.js'
import { ensureAccount } from '../../src/tenant/account.js'
import { createTenants } from '../../src/tenant/tenants.js'
import { certificate, LISTENERS } from '../smtp/doors.js'

const LIMITS = { message_size: 100_000, recipients: 5, connections: 50, idle: 5_000 }

export const openProduct = async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-dialogue-'))
  const store = openSqliteStore({ dataDir, daemon: true })
  await store.open()
  await store.migrate()
  const ground = { store, pepper: loadPepper(dataDir), clock: systemClock, perMinute: 600, authFailures: 3 }
  const tenants = createTenants(ground)
  const { id: account } = await ensureAccount(ground)
  await tenants.createWorkspace(account, { name: 'Loose', slug: 'loose', lineEndings: 'normalize' })
  await tenants.createWorkspace(account, {
    name: 'Own',
    slug: 'own',
    restrictSenders: true,
    defaultFrom: 'app@own.test',
  })
  const keyOf = async (name: string, workspace: string | null, rateLimitPerMinute: number | null = null) => {
    const { row, secret } = await tenants.createKey(account, {
      name,
      mode: 'test',
      workspace,
      rateLimitPerMinute,
    })
    return { id: row.id, secret }
  }
  const keys = {
    KEY: await keyOf('key', 'default'),
    ONCE: await keyOf('once', 'default', 1),
    LOOSE: await keyOf('loose', 'loose'),
    OWN: await keyOf('own', 'own'),
    PLATFORM: await keyOf('platform', null),
  }
  await tenants.createCredential(account, {
    workspace: 'default',
    username: 'printer',
    password: 'old secret',
  })
  const { id: workspace } = await tenants.findWorkspace(account, 'default')
  const door = createSubmissionDoor({
    config: { hostname: 'mx.postern.test', submission: [LISTENERS.clear], limits: LIMITS },
    certificate: await certificate(),
    tenants,
    submission: createSubmission({
      store,
      config: { hostname: 'mx.postern.test', limits: LIMITS, default_from: null },
      clock: systemClock,
    }),
    clock: systemClock,
    log: silentLog(),
  })
  await door.start()
  return {
    port: door.addresses[0]?.port ?? 0,
    words: {
      ...Object.fromEntries(Object.entries(keys).map(([name, { secret }]) => [name, secret])),
      WORKSPACE: workspace,
    },
    revoke: (name: string) => tenants.revokeKey(account, keys[name as keyof typeof keys].id),
    count: async () =>
      (await store.depth()).reduce((sum, { due, leased, waiting }) => sum + due + leased + waiting, 0),
    close: async () => {
      await door.stop()
      await store.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}
