/** A database that came back as it was before, by whatever means: what waits is held, on both engines. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { rewindStore, type StorePlace } from '../../src/store/open.js'
import type { Store } from '../../src/store/port/store.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { accepted, claimOne, HOUR, newAccount, page, T0 } from './fixture.js'

const actor = { kind: 'cli', id: 'cli:0', name: 'ana', address: null } as const
const EVERY_ENTRY = {
  action: null,
  actorId: null,
  objectId: null,
  workspaceId: null,
  since: null,
  until: null,
}

const folderOf = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-rewound-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const rewinds = async (t: Test, place: StorePlace, open: () => Promise<Store>): Promise<void> => {
  const before = await open()
  const at = await newAccount(before)
  const underWay = await accepted(before, at)
  await claimOne(before, at, T0)
  const later = await accepted(before, at, { scheduledAt: T0 + HOUR })
  const due = await accepted(before, at)
  await before.close()

  const told = await rewindStore({ place, version: '1.0.0', actor })
  t.match(told, { held: 3, due: 0, sessions: 0, people: [] })
  const after = await open()
  t.teardown(() => after.close())
  t.same(await after.claim(at.poolId, 10, T0 + 9 * HOUR, T0 + 2 * HOUR), [], 'nothing is sent')
  for (const { id } of [underWay, later, due]) {
    t.match(await after.entriesOf([id]), [{ held: 'restored' }], id)
    t.match((await after.events(id, page())).rows[0], { type: 'email.held', reason: 'restored' })
  }
  t.match((await after.audit(at.accountId, EVERY_ENTRY, page())).rows[0], {
    action: 'database.restored',
    detail: { held: 3, sessions_ended: 0 },
  })
  const scope = { accountId: at.accountId, workspaceId: null, poolId: null, domain: null, emailId: null }
  const order = {
    action: 'release',
    scope,
    hold: null,
    to: null,
    reason: 'looked at',
    now: T0 + HOUR,
  } as const
  t.equal(await after.operate(order), 3, 'an operator lets it go')
  t.match(await rewindStoreIsRefused(place), 'StoreBusyError', 'nobody may run')
}

const rewindStoreIsRefused = (place: StorePlace): Promise<string> =>
  rewindStore({ place, version: '1.0.0', actor }).then(
    () => 'done',
    (error: Error) => error.name,
  )

t.test('a data folder', (t) => {
  const dataDir = folderOf(t)
  return rewinds(t, { data_dir: dataDir }, async () => {
    const store = openSqliteStore({ dataDir, daemon: true })
    await store.open()
    return store
  })
})

t.test('PostgreSQL', { skip: noPostgres() }, async (t) => {
  const urls = (await postgres()).database()
  const dataDir = folderOf(t)
  const urlFile = join(dataDir, 'url')
  writeFileSync(urlFile, urls, { mode: 0o600 })
  const place = {
    data_dir: dataDir,
    store: { driver: 'postgres', url_file: urlFile },
  } as unknown as StorePlace
  await rewinds(t, place, async () => {
    const store = openPostgresStore({ urls })
    await store.open()
    return store
  })
})
