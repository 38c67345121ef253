/**
 * NAME      contract - the law of the store port
 * DESCRIPTION
 *   Every adapter answers to the same tests. `open` gives a fresh, opened store
 *   and closes it when the test ends. Most tests share one store and bring an
 *   account of their own; those that look at the whole store open a fresh one.
 */
import type { Test } from 'tap'
import { auditContract } from './contract-audit.js'
import { domainsContract } from './contract-domains.js'
import { hooksContract } from './contract-hooks.js'
import { idempotencyContract } from './contract-idempotency.js'
import { identityContract } from './contract-identity.js'
import { incidentsContract } from './contract-incidents.js'
import { ledgerContract } from './contract-ledger.js'
import { logContract } from './contract-log.js'
import { noticesContract } from './contract-notices.js'
import { operationsContract } from './contract-operations.js'
import { orderContract } from './contract-order.js'
import { queueContract } from './contract-queue.js'
import { reportsContract } from './contract-reports.js'
import { restContract } from './contract-rest.js'
import { searchContract } from './contract-search.js'
import { senderDsnsContract } from './contract-sender-dsns.js'
import { settleContract } from './contract-settle.js'
import { softBouncesContract } from './contract-soft-bounces.js'
import { statisticsContract } from './contract-statistics.js'
import { tenantsContract } from './contract-tenants.js'
import { timesContract } from './contract-times.js'
import { upkeepContract } from './contract-upkeep.js'
import { watchContract } from './contract-watch.js'
import { workspacesContract } from './contract-workspaces.js'
import type { OpenStore } from './fixture.js'

export const contract = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  await t.test('queue', (t) => queueContract(t, store, open))
  await t.test('idempotency', (t) => idempotencyContract(t, store))
  await t.test('settle', (t) => settleContract(t, store, open))
  await t.test('ledger', (t) => ledgerContract(t, store))
  await t.test('order', (t) => orderContract(t, store, open))
  await t.test('log', (t) => logContract(t, store, open))
  await t.test('tenants', (t) => tenantsContract(t, store, open))
  await t.test('identity', (t) => identityContract(t, store, open))
  await t.test('audit', (t) => auditContract(t, store, open))
  await t.test('operations', (t) => operationsContract(t, store, open))
  await t.test('domains', (t) => domainsContract(t, store))
  await t.test('sender dsns', (t) => senderDsnsContract(t, store))
  await t.test('search', (t) => searchContract(t, store, open))
  await t.test('statistics', (t) => statisticsContract(t, open))
  await t.test('rest', (t) => restContract(t, store, open))
  await t.test('times', (t) => timesContract(t, open))
  await t.test('workspaces', (t) => workspacesContract(t, store, open))
  await t.test('webhooks', (t) => hooksContract(t, store, open))
  await t.test('notices', (t) => noticesContract(t, store, open))
  await t.test('watch', (t) => watchContract(t, store, open))
  await t.test('incidents', (t) => incidentsContract(t, store, open))
  await t.test('reports', (t) => reportsContract(t, open))
  await t.test('soft bounces', (t) => softBouncesContract(t, store))
  await t.test('upkeep', (t) => upkeepContract(t, open))
}
