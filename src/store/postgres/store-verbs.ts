/**
 * NAME      store-verbs - the store port over the connections of a daemon
 *   Reads take a connection, writes are calls of the writer, by whoever acts. A verb of the port that is not
 *   here does not compile.
 */

import { entriesAgainst, suppressionList } from '../../lifecycle/suppress.js'
import type { Actor } from '../port/identity.js'
import type { Store } from '../port/store.js'
import type { Keep } from '../port/upkeep.js'
import { asListed } from '../rules/tenants.js'
import { readMark } from '../sql/log/places.js'
import type { AnsweredLater } from '../sql/query.js'
import { inRounds, type Stepping, type Swept, stepsOf as stepsFrom, sweeping } from '../sql/steps.js'
import type { Touch } from '../sql/tenants.js'
import { settingsFaults } from './connection.js'
import { LIGHT_VERBS, type LightVerbs } from './light.js'
import type { Hints } from './notify.js'
import { POINTS } from './points.js'
import { QUEUE_VERBS, type QueueVerbs } from './queue.js'
import type { PostgresSession } from './session.js'
import { type AnyVerb, type Calls, READS, WRITE_NAMES, type WriteVerbs } from './verbs.js'

/** Its verbs are among those that can be called. */
const stepping = (current: () => Calls) => current as unknown as () => Stepping

const stepsOf = (current: () => Calls) => stepsFrom(stepping(current))

/** Old mail, and when nothing of it is left all else. Bodies are rows here. */
const sweepStep = async (at: Calls, now: number, keep: Keep): Promise<Swept> => {
  const { removed, again } = await at.call('sweepMail', now, keep)
  const others = again ? 0 : await at.call('sweepOthers', now, keep)
  return { removed: removed + others, files: [], again: again || others > 0 }
}

const sweepOf = (current: () => Calls): Store['sweep'] => {
  const sweep = sweeping(stepping(current), (now, keep) => sweepStep(current(), now, keep))
  return async (now, keep) => {
    const expired = keep.deadlines === false ? 0 : await inRounds(() => current().call('sweepOverdue', now))
    return expired + (await sweep(now, keep, async () => {}))
  }
}

const readsOf = (current: () => PostgresSession) => {
  const read =
    (by: 'points' | 'readers', verb: AnyVerb) =>
    async (...args: readonly unknown[]) =>
      current()[by].read(() => verb(...args))
  return Object.fromEntries(
    Object.entries(READS).map(([name, verb]) => [
      name,
      read(POINTS.has(name) ? 'points' : 'readers', verb as unknown as AnyVerb),
    ]),
  ) as AnsweredLater<typeof READS>
}

/** What somebody may call. */
const writesOf = (calls: () => Calls) => {
  const write =
    (name: keyof WriteVerbs) =>
    async (...args: readonly unknown[]) =>
      calls().call(name, ...(args as never))
  const writes = Object.fromEntries(WRITE_NAMES.map((name) => [name, write(name)]))
  return { ...(writes as unknown as AnsweredLater<WriteVerbs>), ...stepsOf(calls) }
}

/** Lists of suppressions are asked ahead of the one statement that stores it. */
const acceptOf =
  (current: () => PostgresSession): Store['accept'] =>
  async (given) => {
    const { points, queue } = current()
    const asked = new Map<string, readonly string[]>()
    for (const { workspaceId, mode, recipients } of given.mails) {
      const list = suppressionList(workspaceId, mode)
      const entries = recipients.flatMap(({ normal }) => (normal === undefined ? [] : entriesAgainst(normal)))
      if (entries.length > 0) asked.set(list, [...(asked.get(list) ?? []), ...entries])
    }
    const found = new Set<string>()
    for (const [list, entries] of asked)
      for (const one of await points.read(() => READS.suppressed(list, entries, given.now)))
        found.add(`${list} ${one}`)
    const listed = asListed(given, (list, entry) => found.has(`${list} ${entry}`))
    if (listed === null) return 'stale'
    const result = await queue.accept(listed.batch)
    return result === 'accepted' ? listed.result : result
  }

type Called = (...args: readonly unknown[]) => Promise<unknown>

/** What a session answers by itself. */
const called = <Verbs>(names: readonly (keyof Verbs)[], verbs: () => Verbs): Verbs =>
  Object.fromEntries(
    names.map((name) => [
      name,
      async (...args: readonly unknown[]) => (verbs()[name] as unknown as Called)(...args),
    ]),
  ) as unknown as Verbs

const othersOf = (current: () => PostgresSession, hints: Hints) => ({
  system: 'postgresql',
  ...{ onDue: hints.onDue, onChanged: hints.onChanged, onSettled: hints.onSettled, ready: hints.ready },
  onLeased(take: Parameters<Store['onLeased']>[0]) {
    const off = hints.onLeased((leases) => {
      for (const { loaded } of leases) current().leased.note(loaded)
      take(leases.map(({ claimed }) => claimed))
    })
    hints.takes(current().writer.boot)
    return () => {
      off()
      hints.takes(null)
    }
  },
  touch: (...touch: Touch) => current().touches.touch(...touch),
  cluster: () => current().view(),
  holdsWork: async (kind: string) => current().holdsWork(kind),
  isMark: (text: string) => readMark(text) !== null,
  async check() {
    const connection = await current().connect()
    return settingsFaults(connection).finally(() => connection.close())
  },
})

type Own = Pick<Store, 'open' | 'migrate' | 'close' | 'broken' | 'load' | 'backup' | 'known'>

/** The whole port; `own` begins and ends it. */
export const storeOf = (current: () => PostgresSession, hints: Hints, own: Own): Store => {
  const calls = (): Calls => current().calls
  const plain: Omit<Store, 'by'> = {
    ...readsOf(current),
    ...writesOf(calls),
    sweep: sweepOf(calls),
    ...called<QueueVerbs>(QUEUE_VERBS, () => current().queue),
    accept: acceptOf(current),
    ...called<LightVerbs>(LIGHT_VERBS, () => current().light),
    ...othersOf(current, hints),
    ...own,
  }
  const by = (actor: Actor, entry: string | null = null): Store => ({
    ...plain,
    ...writesOf(() => calls().by({ actor, entry })),
    by,
  })
  return { ...plain, by }
}
