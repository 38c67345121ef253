/**
 * NAME      store-writes - the writing verbs of the port
 * DESCRIPTION
 *   Each resolves after its commit; those that are one call to the writer are made from
 *   the table of verbs. Two do not wait: consume() of the daemon answers from memory, and
 *   touch() never waits.
 */

import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../base/clock.js'
import type { QueueOrder } from '../port/operations.js'
import type { Store } from '../port/store.js'
import { type NamesOf, verbsOf } from '../port/verbs.js'
import { ENDABLE } from '../rules/carry.js'
import type { Progress } from '../sql/operate/orders.js'
import type { ErasePlace } from './operate/erase.js'
import type { Swept } from './protocol.js'
import type { Verbs } from './session.js'
import { fromClaimedArray, toWire } from './thread/wire.js'
import type { WriterClient } from './thread/writer-client.js'

/** Small steps, so that others write in between; all done when it resolves. */
const inSteps = async (step: (cursor: Progress['next']) => Promise<Progress>): Promise<number> => {
  let changed = 0
  let cursor: Progress['next'] = null
  do {
    const done: Progress = await step(cursor)
    changed += done.changed
    cursor = done.next
  } while (cursor !== null)
  return changed
}

/** Until a step finds nothing more. */
const inRounds = async (step: () => Promise<number>): Promise<number> => {
  let changed = 0
  for (let n = -1; n !== 0; changed += Math.max(0, n)) n = await step()
  return changed
}

const resume = (current: () => Verbs, id: string, now: number): Promise<number> =>
  inRounds(() => current().client.call('resumeStep', id, now))

/** Ends what waits of a workspace that was deleted. */
const discard = (
  current: () => Verbs,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  reason: string,
  now: number,
): Promise<number> => {
  const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
  return operate(current, { action: 'discard', scope, to: null, reason, now })
}

const operate = async (current: () => Verbs, order: QueueOrder): Promise<number> => {
  const client = current().client.asOrder()
  const { n } = await client.call('beginOrder', order)
  return finish(client, n)
}

/** The steps of an order that has begun. */
const finish = (client: WriterClient, n: number): Promise<number> =>
  inSteps((cursor) => client.call('orderStep', n, cursor))

/** What one order calls: it has one entry in the audit, however many calls it takes. */
const asOrder = (current: () => Verbs): (() => Verbs) => {
  const client = current().client.asOrder()
  return () => ({ ...current(), client })
}

type Steps<Names extends keyof Store> = (current: () => Verbs) => Pick<Store, Names>

const operationSteps: Steps<'hold' | 'operate' | 'indexMails' | 'decideIncident'> = (current) => ({
  async indexMails(limit) {
    const { client, reads } = current()
    const { from, to, mails } = reads.toIndex(limit)
    if (mails.length === 0) return 0
    return (await client.call('addIndexed', from, to, mails)) ? mails.length : 0
  },
  async decideIncident(...args) {
    const { client } = asOrder(current)()
    let changed = 0
    for (let isFirst = true; ; isFirst = false) {
      const step = await client.call('decideStep', ...args, isFirst)
      if (typeof step === 'string') return step
      changed += step.changed
      if (!step.again) return changed
    }
  },
  async hold(hold) {
    const { client } = asOrder(current)()
    const { n } = await client.call('beginHold', hold)
    return finish(client, n)
  },
  operate: (order) => operate(current, order),
})

const carrySteps: Steps<'markLot' | 'closeLot' | 'endLot' | 'carryIn'> = (current) => ({
  markLot: (id, scope, reason, now) =>
    inSteps((cursor) => current().client.call('markStep', id, scope, reason, now, cursor)),
  closeLot: async (id) =>
    (await current().client.call('turnLot', id, ['marking'], 'exported')) === 'exported',
  async endLot(id, as, now) {
    const { client } = asOrder(current)()
    const state = await client.call('turnLot', id, ENDABLE[as], as)
    if (state !== as) return state ?? 'imported'
    return inRounds(() => client.call('lotStep', id, now))
  },
  async carryIn(mail, to, now) {
    const { id, raw } = mail
    const { client, bodyStore, reads } = current()
    // the body of a mail that is known is here already, unless retention took it
    if (raw === null || reads.hasBody(id))
      return client.call('carryIn', { ...mail, raw: null }, to, now, null)
    return bodyStore.carry({ id, raw }, (size) =>
      client.call('carryIn', size === null ? mail : { ...mail, raw: new Uint8Array(0) }, to, now, size),
    )
  },
})

const workspaceSteps: Steps<
  'updateWorkspace' | 'suspendWorkspace' | 'deleteWorkspace' | 'resumeWorkspace'
> = (current) => ({
  async updateWorkspace(id, change, moving) {
    const order = asOrder(current)
    const { client } = order()
    const written = await client.call('updateWorkspace', id, change, moving)
    // an earlier move that was cut off comes first: from where it leads to, mail goes on; the same order
    // given again moves nothing more, and finishes it
    const isOrder = moving !== undefined || change.poolId !== undefined || change.routes !== undefined
    const open = isOrder ? await current().client.call('openOrders', id) : []
    for (const n of open) await finish(client, n)
    return written
  },
  async suspendWorkspace({ id }, reason, now) {
    // what an earlier resume has left is freed first, and rests again
    if ((await current().client.call('resuming')).includes(id)) await resume(current, id, now)
    const { client } = asOrder(current)()
    const { n } = await client.call('suspendWorkspace', id, reason, now)
    return finish(client, n)
  },
  async deleteWorkspace(accountId, id, reason, now) {
    const order = asOrder(current)
    const result = await order().client.call('deleteWorkspace', accountId, id, now)
    if (result === 'done') await discard(order, { id, accountId }, reason, now)
    return result
  },
  async resumeWorkspace(id, now) {
    const order = asOrder(current)
    await order().client.call('resumeWorkspace', id, now)
    return resume(order, id, now)
  },
})

/** Orders that were there a sweep ago: nobody works on them any more, or they are long, and done twice without harm. */
const createCutOff = () => {
  let seen: readonly number[] = []
  return async (client: WriterClient): Promise<readonly number[]> => {
    const before = seen
    seen = await client.call('openOrders', null)
    return seen.filter((n) => before.includes(n))
  }
}

/** A sweep that has gone on for longer is behind: it pauses no more between its steps. */
const GENTLE_MS = 30_000

const sweepSteps = (current: () => Verbs, cutOff = createCutOff()): Pick<Store, 'sweep'> => ({
  async sweep(now, keep) {
    const { client, bodyStore, daemon } = current()
    const start = systemClock.tick()
    let removed = 0
    const steps = async (step: () => Promise<Swept>): Promise<void> => {
      for (let again = true; again; ) {
        const began = systemClock.tick()
        const swept = await step()
        removed += swept.removed
        await bodyStore.drop(swept.files)
        again = swept.again
        // most of the writer's time is for mail
        if (again && began - start < GENTLE_MS) await setTimeout(2 * (systemClock.tick() - began))
      }
    }
    await steps(() => client.call('sweepStep', now, keep))
    for (const deleted of await client.call('erasing')) {
      removed += await discard(current, deleted, 'the workspace was deleted', now)
      let place: ErasePlace | null = null
      await steps(async () => {
        const erased = await client.call('eraseStep', deleted.id, now, place)
        place = erased.place
        return erased
      })
    }
    for (const n of await cutOff(client)) removed += await finish(client, n)
    for (const id of await client.call('resuming')) removed += await resume(current, id, now)
    if (daemon) removed += await bodyStore.tidy(now)
    while (await client.call('shrinkStep')) {}
    return removed
  },
})

type OtherWrites = Pick<
  Store,
  'accept' | 'claim' | 'consume' | 'touch' | 'onDue' | 'onLeased' | 'ready' | 'onSettled'
>

const otherWrites = (current: () => Verbs): OtherWrites => ({
  async accept(batch) {
    const { client, bodyStore, window } = current()
    return bodyStore.accept(batch, (beside) => {
      window.flush()
      return client.call('accept', toWire(batch, beside))
    })
  },
  claim: async (...args) => (await current().client.call('claim', ...args)).map(fromClaimedArray),
  consume: async (...args) =>
    current().daemon ? current().window.consume(...args) : current().client.call('consume', ...args),
  touch: (...args) => current().touches.touch(...args),
  onDue: (wake) => current().client.onDue(wake),
  onLeased: (take) => current().client.onLeased(take),
  ready: (poolIds) => current().client.ready(poolIds),
  onSettled: (listener) => current().client.onSettled(listener),
})

export type StoreWrites = Pick<Store, NamesOf<'write' | 'steps'>> & OtherWrites

export const writesOf = (current: () => Verbs): StoreWrites => {
  const forward =
    (name: NamesOf<'write'>) =>
    async (...args: readonly unknown[]): Promise<unknown> =>
      current().client.call(name, ...(args as never))
  const forwarded = Object.fromEntries(verbsOf('write').map((name) => [name, forward(name)]))
  return {
    ...(forwarded as unknown as Pick<Store, NamesOf<'write'>>),
    ...operationSteps(current),
    ...carrySteps(current),
    ...workspaceSteps(current),
    ...sweepSteps(current),
    ...otherWrites(current),
  }
}
