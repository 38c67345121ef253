/**
 * What the guard costs that looks whether too many addresses bounce for good at the same time, by itself: mails are
 * accepted and settled in a store of this process, some of them as dead, and what is dead is listed with the guard's verb
 * and by turns with the plain one. CPU of all threads. For a mail that is taken nothing is counted: the guard reads the log
 * when there is something to judge, which the last line makes happen for each.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId } from '../../src/base/id.js'
import type { Store } from '../../src/store/port/store.js'
import { openStoreIn } from '../parts/store.js'
import { mailFor, newAccount, outcome, T0, type TestAccount, toOne } from '../store/fixture.js'
import { atMost } from './goals.js'
import { spread } from './load.js'

const BATCH = 50
const TOGETHER = 5
/** CPU of a mail of 1 KB that is relayed, warm, in all threads (FIGURES.md). */
const WHOLE_US = 720
const UPSTREAM = newId('up')

interface Scene {
  readonly store: Store
  readonly at: TestAccount
  /** Of all mails so far; each has an address of its own. */
  n: number
}

type Listing = (one: Scene, email: string, recipientId: string, now: number) => Promise<unknown>

const rowOf = ({ at }: Scene, email: string, now: number) => ({
  ...{ id: newId('sup', now), accountId: at.accountId, list: at.workspace.id, email },
  ...{ origin: 'bounce' as const, sourceId: null, reason: 'unknown_user', expiresAt: null, createdAt: now },
})

const guarded: Listing = (one, email, recipientId, now) =>
  one.store.addHardBounce({
    ...{ row: rowOf(one, email, now), recipientId, said: 'no such user', upstreamId: UPSTREAM },
  })

const plain: Listing = (one, email, _, now) => one.store.addSuppression(rowOf(one, email, now))

/** Microseconds of CPU of a piece of work. */
const cpuOf = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** Of a mail, and of each that is listed. */
interface Cost {
  readonly mail: number
  readonly listed: number
}

/** Mails of ten domains, `share` of which are dead; to one domain alone where `domains` is 1. */
const block = async (
  one: Scene,
  count: number,
  share: number,
  domains: number,
  list: Listing,
): Promise<Cost> => {
  const now = T0 + one.n * 10
  const ended: { readonly id: string; readonly email: string; readonly isDead: boolean }[] = []
  const mail = await cpuOf(async () => {
    for (let from = 0; from < count; from += BATCH) {
      const recipients = Array.from({ length: BATCH }, () =>
        toOne(`u${one.n++}@d${one.n % domains}.test`, {}),
      )
      const mails = recipients.map((to) =>
        mailFor(one.at, { recipients: [to], createdAt: now, to: [to.address] }),
      )
      await one.store.accept({ mails, idempotency: null, now })
      const told = recipients.map(({ id, address }, i) => ({
        ...{ id, email: address, isDead: (from + i) % Math.round(1 / share) === 0 },
      }))
      const mta = { poolId: one.at.poolId, upstreamId: UPSTREAM, host: 'mx.test' }
      const reply = { code: 550, enhanced: '5.1.1', text: 'no such user' }
      await one.store.settle(
        told.map(({ id, isDead }) =>
          outcome(id, { at: now, mta, ...(isDead ? { seen: 'rejected', reply } : { seen: 'accepted' }) }),
        ),
      )
      ended.push(...told.filter(({ isDead }) => isDead))
    }
  })
  const listing = await cpuOf(async () => {
    // some share a commit, as where the relay is busy
    for (let from = 0; from < ended.length; from += TOGETHER)
      await Promise.all(ended.slice(from, from + TOGETHER).map(({ id, email }) => list(one, email, id, now)))
  })
  return { mail: mail / count, listed: listing / ended.length }
}

export const guardBench = async (runs: number, count: number): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-guard-'))
  const store = await openStoreIn(folder)
  try {
    await store.open()
    const one: Scene = { store, at: await newAccount(store), n: 0 }
    const usual: Record<'with' | 'without', Cost[]> = { with: [], without: [] }
    await block(one, count, 0.02, 10, guarded)
    for (let run = 0; run < 2 * runs; run++)
      for (const [name, list] of [
        ['with', guarded],
        ['without', plain],
      ] as const)
        usual[name].push(await block(one, count, 0.02, 10, list))
    const outage = await block(one, count, 0.3, 1, guarded)
    const us = (of: readonly Cost[], part: keyof Cost): string => spread(of.map((cost) => cost[part]))
    const least = (of: readonly Cost[], part: keyof Cost): number => Math.min(...of.map((cost) => cost[part]))
    const more = 0.02 * (least(usual.with, 'listed') - least(usual.without, 'listed'))
    const share = (100 * more) / WHOLE_US
    console.log(`guard, ${one.n} mails, microseconds of CPU of the store alone:
  a mail, accepted and settled      ${us([...usual.with, ...usual.without], 'mail')}
  a dead address, listed            ${us(usual.with, 'listed')} with the guard, ${us(usual.without, 'listed')} without
  of all mail, 2 % of which is dead ${more.toFixed(1)} a mail: ${share.toFixed(1)} % of the ${WHOLE_US} of a whole one  ${atMost(2, share, ' %')}
  in an outage, 1 of 3 is dead      ${outage.listed.toFixed(0)} each`)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
