/**
 * NAME      store-verbs - the store port over a writer thread and connections that read
 *   Each is one or a few seeks on this thread's read-only connection; what may take longer (depth, backup,
 *   integrity) is for operators and says so. Those that need rows alone are made from the table of verbs.
 *   Each resolves after its commit; those that are one call to the writer are made from the table of verbs.
 *   Two do not wait: consume() of the daemon answers from memory, and touch() never waits.
 */

import { hostname } from 'node:os'
import { systemClock } from '../../base/clock.js'
import { readPulse } from '../load-counts.js'
import { ALONE, type WriterRow } from '../port/cluster.js'
import type { Actor } from '../port/identity.js'
import type { CarriedMail, CarryTarget } from '../port/operations.js'
import { type NamesOf, type Store, verbsOf } from '../port/store.js'
import type { Keep } from '../port/upkeep.js'
import { readMark } from '../sql/log/places.js'
import { type Stepping, stepsOf, sweeping } from '../sql/steps.js'
import { backup, integrityFaults } from './backup.js'
import type { Verbs } from './session.js'
import { CLAIMED, toWire } from './thread/wire.js'

// Who writes to a store that one daemon has to itself.

/** It is who asks. */
export const onlyWriter = (version: string): WriterRow => ({
  ...{ n: 0, daemonId: 'only', role: 'main', epoch: 0, lagMs: 0 },
  ...{ version, host: hostname(), settings: null, pools: null },
})

/** A daemon checks these and no more: reading ten million mails would keep its doors shut for minutes. */
const SMALL_TABLES = ['accounts', 'workspaces', 'pools', 'keys', 'credentials', 'sessions', 'users']

type OtherReads = Pick<
  Store,
  | 'system'
  | 'body'
  | 'carried'
  | 'depth'
  | 'isMark'
  | 'load'
  | 'check'
  | 'backup'
  | 'writers'
  | 'serverState'
  | 'cluster'
  | 'holdsWork'
  | 'relayMark'
>

const otherReads = (current: () => Verbs): OtherReads => ({
  system: 'sqlite',
  body: async (emailId) => current().bodyStore.body(emailId),
  async carried(emailId) {
    const mail = current().reads.carried(emailId)
    return mail === null ? null : { ...mail, raw: await current().bodyStore.body(emailId) }
  },
  depth: async (of) => current().reads.depth(systemClock.now(), of),
  writers: async () => [onlyWriter(current().version)],
  cluster: () => ALONE,
  serverState: async () => null,
  holdsWork: async () => true,
  // the rows are at hand
  relayMark: async () => null,
  isMark: (text) => readMark(text) !== null,
  load: () => readPulse(current().loadCounts),
  async check() {
    const { client, db, daemon, bodyStore } = current()
    const faults = [...(await client.call('durability')), ...integrityFaults(db, daemon ? SMALL_TABLES : [])]
    return daemon ? faults : [...faults, ...(await bodyStore.missing())]
  },
  backup: (path) => backup(current().file, path),
})

type StoreReads = Pick<Store, NamesOf<'read'>> & OtherReads

export const readsOf = (current: () => Verbs): StoreReads => {
  const forward =
    (name: keyof Verbs['reads']) =>
    async (...args: readonly unknown[]): Promise<unknown> =>
      (current().reads[name] as (...args: readonly unknown[]) => unknown)(...args)
  const forwarded = Object.fromEntries(verbsOf('read').map((name) => [name, forward(name as never)]))
  return { ...(forwarded as unknown as Pick<Store, NamesOf<'read'>>), ...otherReads(current) }
}

/** Its verbs are among those of the writer. */
const stepping = (current: () => Verbs) => (): Stepping => current().client as unknown as Stepping

/** With what a sweep remembers from one to the next. */
const sweepOf = (current: () => Verbs) =>
  sweeping(stepping(current), (now, keep) => current().client.call('sweepStep', now, keep))

const ownSteps = (current: () => Verbs, sweep = sweepOf(current)) => ({
  async carryIn(mail: CarriedMail, to: CarryTarget, now: number) {
    const { id, raw } = mail
    const { client, bodyStore, reads } = current()
    // the body of a mail that is known is here already, unless retention took it
    if (raw === null || reads.hasBody(id))
      return client.call('carryIn', { ...mail, raw: null }, to, now, null)
    return bodyStore.carry({ id, raw }, (size) =>
      client.call('carryIn', size === null ? mail : { ...mail, raw: new Uint8Array(0) }, to, now, size),
    )
  },
  async sweep(now: number, keep: Keep) {
    const { client, bodyStore, daemon } = current()
    let removed = await sweep(now, keep, (files) => bodyStore.drop(files))
    if (daemon) removed += await bodyStore.tidy(now)
    while (await client.call('shrinkStep')) {}
    return removed
  },
})

type OtherWrites = Pick<
  Store,
  'accept' | 'claim' | 'consume' | 'touch' | 'onDue' | 'onChanged' | 'onLeased' | 'ready' | 'onSettled'
>

const otherWrites = (current: () => Verbs): OtherWrites => ({
  accept(batch) {
    const { client, bodyStore, window } = current()
    return bodyStore.accept(batch, (beside) => {
      window.flush()
      return client.call('accept', toWire(batch, beside))
    })
  },
  claim: async (...args) => (await current().client.call('claim', ...args)).map(CLAIMED.unpack),
  consume: (...args) =>
    current().daemon ? current().window.consume(...args) : current().client.call('consume', ...args),
  touch: (...args) => current().touches.touch(...args),
  onDue: (wake) => current().client.onDue(wake),
  // nobody else has it
  onChanged: () => () => {},
  onLeased: (take) => current().client.onLeased(take),
  ready: (poolIds) => current().client.ready(poolIds),
  onSettled: (listener) => current().client.onSettled(listener),
})

type StoreWrites = Pick<Store, NamesOf<'write' | 'steps'>> & OtherWrites

export const writesOf = (current: () => Verbs): StoreWrites => {
  const forward =
    (name: NamesOf<'write'>) =>
    async (...args: readonly unknown[]): Promise<unknown> =>
      current().client.call(name, ...(args as never))
  const forwarded = Object.fromEntries(verbsOf('write').map((name) => [name, forward(name)]))
  return {
    ...(forwarded as unknown as Pick<Store, NamesOf<'write'>>),
    ...stepsOf(stepping(current)),
    ...ownSteps(current),
    ...otherWrites(current),
  }
}

/** The same verbs, whose calls say who acts; with `entry` all of them are one order. */
export const actingVerbs =
  (current: () => Verbs, actor: Actor, entry: string | null): (() => Verbs) =>
  () => {
    const verbs = current()
    return { ...verbs, client: verbs.client.by({ actor, entry }) }
  }
