/**
 * NAME      contract - the law of the store port
 * DESCRIPTION
 *   Every adapter answers to the same tests. `open` gives a fresh, opened store
 *   and closes it when the test ends. Most tests share one store and bring an
 *   account of their own; those that look at the whole store open a fresh one.
 */
import type { Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { auditContract } from './contract-audit.js'
import { backupContract } from './contract-backup.js'
import { carryContract } from './contract-carry.js'
import { domainReportsContract } from './contract-domain-reports.js'
import { domainsContract } from './contract-domains.js'
import { edgesContract } from './contract-edges.js'
import { hooksContract } from './contract-hooks.js'
import { idempotencyContract } from './contract-idempotency.js'
import { identityContract } from './contract-identity.js'
import { incidentsContract } from './contract-incidents.js'
import { jobsContract } from './contract-jobs.js'
import { ledgerContract } from './contract-ledger.js'
import { logContract } from './contract-log.js'
import { noticesContract } from './contract-notices.js'
import { operationsContract } from './contract-operations.js'
import { orderContract } from './contract-order.js'
import { queueContract } from './contract-queue.js'
import { readingContract } from './contract-reading.js'
import { reportsContract } from './contract-reports.js'
import { restContract } from './contract-rest.js'
import { searchContract } from './contract-search.js'
import { senderDsnsContract } from './contract-sender-dsns.js'
import { settleContract } from './contract-settle.js'
import { setupsContract } from './contract-setups.js'
import { softBouncesContract } from './contract-soft-bounces.js'
import { statisticsContract } from './contract-statistics.js'
import { tenantsContract } from './contract-tenants.js'
import { textsContract } from './contract-texts.js'
import { timesContract } from './contract-times.js'
import { upkeepContract } from './contract-upkeep.js'
import { warmupContract } from './contract-warmup.js'
import { watchContract } from './contract-watch.js'
import { workspacesContract } from './contract-workspaces.js'
import type { OpenStore } from './fixture.js'

type Family = (t: Test, store: Store, open: OpenStore) => Promise<void>

const FAMILIES = {
  queue: queueContract,
  idempotency: idempotencyContract,
  settle: settleContract,
  edges: edgesContract,
  ledger: ledgerContract,
  order: orderContract,
  log: logContract,
  tenants: tenantsContract,
  identity: identityContract,
  audit: auditContract,
  operations: operationsContract,
  domains: domainsContract,
  'domain reports': (t, _store, open) => domainReportsContract(t, open),
  'sender dsns': senderDsnsContract,
  reading: (t, _store, open) => readingContract(t, open),
  search: searchContract,
  statistics: (t, _store, open) => statisticsContract(t, open),
  rest: restContract,
  times: (t, _store, open) => timesContract(t, open),
  texts: textsContract,
  workspaces: workspacesContract,
  webhooks: hooksContract,
  notices: noticesContract,
  watch: watchContract,
  'warm-up': (t, _store, open) => warmupContract(t, open),
  incidents: incidentsContract,
  reports: (t, _store, open) => reportsContract(t, open),
  'soft bounces': softBouncesContract,
  jobs: jobsContract,
  setups: setupsContract,
  carry: carryContract,
  backup: backupContract,
  upkeep: (t, _store, open) => upkeepContract(t, open),
} satisfies Readonly<Record<string, Family>>

export type FamilyName = keyof typeof FAMILIES
export const FAMILY_NAMES = Object.keys(FAMILIES) as readonly FamilyName[]

/** `without`: families that this engine does not have, and why. */
export const contract = async (
  t: Test,
  open: OpenStore,
  without: Partial<Readonly<Record<FamilyName, string>>> = {},
): Promise<void> => {
  const store = await open(t)
  for (const [name, family] of Object.entries(FAMILIES)) {
    const skip = without[name as FamilyName] ?? false
    await t.test(name, { skip }, (t) => family(t, store, open))
  }
}
