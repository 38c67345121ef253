/**
 * NAME      open - the store as Maps and the law: the model
 * DESCRIPTION
 *   It answers the verbs of the port by the rules of lifecycle/ and by nothing else; it
 *   has no speed and no disk. Tests hold the engines against it. A crash is to drop a handle and
 *   to open the same Maps again; two handles on the same Maps are two living stores.
 * NOTES
 *   What only an engine with files can do is in WITHOUT.
 */
import { type Clock, systemClock } from '../../src/base/clock.js'
import { OutageError } from '../../src/base/fault.js'
import { newId } from '../../src/base/id.js'
import type { Settled } from '../../src/lifecycle/facts.js'
import { beginningOf } from '../../src/store/pools.js'
import type { Store } from '../../src/store/port/store.js'
import type { Lifecycle } from '../../src/store/port/upkeep.js'
import type { Acting } from '../../src/store/rules/audit.js'
import { createLedger } from './ledger.js'
import { createLog } from './log.js'
import { createOperations } from './operations.js'
import { createPendingDsns } from './pending-dsns.js'
import type { Plain } from './plain.js'
import { createQueue } from './queue.js'
import { createRecipients } from './recipients.js'
import { createState, type Effects, type State, whole } from './state.js'
import { createAudited, createAuditReads } from './subjects/audit.js'
import { createCarry } from './subjects/carry.js'
import { createDomainReports } from './subjects/domain-reports.js'
import { createErase } from './subjects/erase.js'
import { createHooks } from './subjects/hooks.js'
import { createIdentity } from './subjects/identity.js'
import { createIncidents } from './subjects/incidents.js'
import { createJobs } from './subjects/jobs.js'
import { createReading } from './subjects/reading.js'
import { createSearch } from './subjects/search.js'
import { createSetups } from './subjects/setup.js'
import { createSoftBounces } from './subjects/soft-bounces.js'
import { createStatistics } from './subjects/statistics.js'
import { createWarmups } from './subjects/warmup.js'
import { createWatch } from './subjects/watch.js'
import { createTenants } from './tenants.js'
import { createUpkeep } from './upkeep.js'

/** Maps as a fresh database has them. */
export const createMemory = (clock: Clock = systemClock): State => {
  const state = createState(clock)
  const now = clock.now()
  const account = { id: newId('acct', now), name: 'default', createdAt: now }
  const log = createLog(state)
  createTenants(state, log.addNotice).createAccount(account, beginningOf(account.id, now))
  return state
}

const createListeners = <Told>() => {
  const listeners = new Set<(told: Told) => void>()
  const listen = (listener: (told: Told) => void): (() => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return { listen, tell: (told: Told) => [...listeners].forEach((listener) => void listener(told)) }
}

/** What open() makes of its own. */
type Elsewhere = 'onDue' | 'onChanged' | 'onSettled' | 'onLeased' | 'ready' | 'migrate'

/** There is no file of it. */
const WITHOUT = {
  backup() {
    throw new Error('the model has nothing to copy')
  },
}

export const openMemoryStore = (state: State): Store => {
  let isOpen = false
  const due = createListeners<void>()
  const settled = createListeners<readonly Settled[]>()
  const effects: Effects = { due: false, settled: [], changed: 0 }
  const log = createLog(state)
  const pending = createPendingDsns(state, log)
  const tenants = createTenants(state, log.addNotice)
  const softBounce = createSoftBounces(state, tenants.addSuppression)
  const people = createRecipients(state, effects, log, pending, softBounce)
  const { suppressed } = tenants
  const parts = { state, boot: ++state.boots, effects, log, people, pending, suppressed }
  const { inScope, ...operations } = createOperations(parts)
  const { addStatistics, ...statistics } = createStatistics(state)
  const { addAlarmCounts, ...watch } = createWatch(state, log.addNotice)
  const { erase, ...deleting } = createErase(parts, operations.operate)
  const { sweepIncidents, ...incidents } = createIncidents(state, log.addNotice, tenants.addSuppression)
  const verbs: Plain<Omit<Store, keyof Lifecycle | Elsewhere | 'by'>> = {
    ...log,
    ...pending,
    ...createQueue(parts),
    ...operations,
    ...deleting,
    ...createUpkeep(parts, [erase, sweepIncidents]),
    ...createLedger(state, log),
    ...tenants,
    ...createAuditReads(state),
    ...createIdentity(state),
    ...createJobs(state),
    ...createSetups(state),
    ...createWarmups(state),
    ...createDomainReports(state),
    ...createReading(state, { ...log, addStatistics, addAlarmCounts }),
    ...statistics,
    ...createSearch(state),
    ...watch,
    ...incidents,
    ...createHooks(state, log.addNotice),
    ...createCarry(parts, inScope),
    ...WITHOUT,
  }
  /** Whole, and told of only when it is done. */
  const run = (verb: (...args: never[]) => unknown, args: never[]): unknown => {
    if (!isOpen) throw new OutageError('the store is not open')
    effects.due = false
    effects.settled = []
    effects.changed = 0
    const answer = whole(state, () => verb(...args))
    const told = effects.settled
    if (effects.due) due.tell()
    if (told.length > 0) settled.tell(told)
    return answer
  }
  const open = async (): Promise<void> => {
    isOpen = true
  }
  const audited = createAudited(state, effects)
  const actingAs = (acting: Acting | null): Store => {
    const promised = Object.entries(verbs).map(([name, verb]) => [
      name,
      async (...args: never[]) => run(() => audited(name, args, acting, verb as never), args),
    ])
    return {
      ...Object.fromEntries(promised),
      isMark: log.isMark,
      load: verbs.load,
      cluster: verbs.cluster,
      touch: (...args: Parameters<Store['touch']>) => void run(verbs.touch as never, args as never),
      onDue: due.listen,
      onSettled: settled.listen,
      onChanged: () => () => {},
      onLeased: () => () => {},
      ready: () => {},
      open,
      migrate: open,
      async close() {
        isOpen = false
      },
      broken: new Promise<Error>(() => {}),
      by: (actor: Acting['actor'], entry: string | null = null) => actingAs({ actor, entry }),
    } as unknown as Store
  }
  return actingAs(null)
}
