/** What tests of reports need: a real store, a mail that was sent, and the reader in front of it. */
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { type NewEmail, observed } from '../../src/lifecycle/facts.js'
import { deriveKeys, makeRef, makeReturnPath } from '../../src/mail/return-path.js'
import { recordReport } from '../../src/outcome/report.js'
import type { Store } from '../../src/store/port/store.js'
import { poolRow, upstreamRow } from '../relay/parts.js'
import { ACCOUNT, accept, newEmail, openStore, WORKSPACE } from '../relay/store-parts.js'

export const keys = deriveKeys(randomBytes(32))
export const DOMAIN = 'bounces.test'

/** A mail to a@ and b@ of example.com, both sent, and how reports about it are recorded. */
export const setUp = async (t: Test, change: Parameters<typeof poolRow>[1] = {}) => {
  const store = await openStore(t, [poolRow([upstreamRow(25)], change)])
  const mail = newEmail('pool_test', ['a@example.com', 'b@example.com'])
  await accept(store, mail)
  await store.settle(
    mail.recipients.map(({ id }) =>
      observed({ recipientId: id, seen: 'accepted', at: Date.now(), source: 'smtp' }),
    ),
  )
  const subject = (at: number) => ({
    recipientId: mail.recipients[at]?.id ?? '',
    workspaceId: WORKSPACE,
    address: mail.recipients[at]?.address ?? '',
  })
  return {
    store,
    mail,
    path: makeReturnPath(keys, 'bounces.test', subject(0)),
    envid: makeRef(keys, 'envid', subject(0)),
    ref: makeRef(keys, 'ref', subject(0)),
    complaint: makeRef(keys, 'complaint', subject(0)),
    record: (to: string, raw: Uint8Array) =>
      recordReport({ store, keys, clock: systemClock, domain: DOMAIN }, to, raw),
  }
}

export const statuses = async (store: Store, mail: NewEmail): Promise<string[]> => {
  const record = await store.email({ accountId: ACCOUNT, workspaceId: null, mode: null }, mail.id)
  return record?.recipients.map(({ status }) => status) ?? []
}

const PAGE = { limit: 50, direction: 'older', anchor: null, countUpTo: 0 } as const
/** Newest first. */
export const eventsOf = async (store: Store, mail: NewEmail) => (await store.events(mail.id, PAGE)).rows
