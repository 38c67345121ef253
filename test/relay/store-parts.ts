/**
 * NAME      store-parts - a real store with an account, for tests of stages above it
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { newId, newRecipientId } from '../../src/base/id.js'
import type { NewEmail } from '../../src/lifecycle/facts.js'
import { beginningOf } from '../../src/store/pools.js'
import type { Store } from '../../src/store/port/store.js'
import type { PoolRow } from '../../src/store/port/tenants.js'
import { eventually } from '../parts/eventually.js'
import { openStoreIn } from '../parts/store.js'

export const ACCOUNT = 'acct_test'
export const WORKSPACE = 'ws_test'

export const openStore = async (t: Test, pools: readonly PoolRow[] = []): Promise<Store> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-test-'))
  const store = await openStoreIn(dataDir)
  await store.open()
  t.teardown(async () => {
    await store.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const account = { id: ACCOUNT, name: 'test', createdAt: Date.now() }
  const { workspace, pools: builtIn } = beginningOf(ACCOUNT, Date.now())
  await store.createAccount(account, { workspace: { ...workspace, id: WORKSPACE }, pools: builtIn })
  for (const pool of pools) await store.createPool({ ...pool, accountId: ACCOUNT })
  return store
}

export const newEmail = (poolId: string, to: readonly string[], change: Partial<NewEmail> = {}): NewEmail => {
  const id = newId('em')
  return {
    id,
    accountId: ACCOUNT,
    workspaceId: WORKSPACE,
    mode: 'live',
    source: 'api',
    from: 'a@example.com',
    to,
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'hello',
    tags: [],
    attachments: [],
    messageId: `<${id}@example.com>`,
    scheduledAt: null,
    createdAt: Date.now(),
    poolId,
    recipients: to.map((address) => ({
      id: newRecipientId(),
      address,
      kind: 'to',
      suppressed: false,
      dsn: null,
    })),
    raw: Buffer.from(`From: a@example.com\r\nTo: ${to[0]}\r\nSubject: hello\r\n\r\nHello\r\n`),
    needsSmtpUtf8: false,
    content: null,
    envid: null,
    ret: null,
    ...change,
  }
}

export const accept = async (store: Store, ...mails: readonly NewEmail[]): Promise<void> => {
  await store.accept({ mails, idempotency: null, now: Date.now() })
}

/** Resolves when the recipient has that status. */
export const untilStatus = async (store: Store, mail: NewEmail, status: string): Promise<void> => {
  const scope = { accountId: ACCOUNT, workspaceId: null, mode: null }
  await eventually(`${mail.id} is ${status}`, async () =>
    (await store.email(scope, mail.id))?.recipients.every((one) => one.status === status),
  )
}
