/**
 * NAME      store-reads - the reading verbs of the port
 * DESCRIPTION
 *   Each is one or a few seeks on this thread's read-only connection; what may
 *   take longer (depth, backup, integrity) is for operators and says so. Those that
 *   need rows alone are made from the table of verbs.
 */
import { systemClock } from '../../base/clock.js'
import { readPulse } from '../load-counts.js'
import { onlyWriter } from '../only-writer.js'
import { ALONE } from '../port/cluster.js'
import { type NamesOf, type Store, verbsOf } from '../port/store.js'
import { readMark } from '../sql/log/places.js'
import { backup, integrityFaults } from './backup.js'
import type { Verbs } from './session.js'

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
