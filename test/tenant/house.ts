/**
 * A real store on a temporary folder, a clock that stands still, and one account:
 * what the tests of tenant/ and submission/ live in.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/base/clock.js'
import { Fault, type FaultCode } from '../../src/base/fault.js'
import type { Store } from '../../src/store/port/store.js'
import type { AccountRow } from '../../src/store/port/tenants.js'
import { createTenants, type Tenancy } from '../../src/tenant/tenants.js'
import { openStoreIn } from '../parts/store.js'

export interface StillClock extends Clock {
  pass(ms: number): void
}

export const stillClock = (start = Date.UTC(2026, 10, 20, 10)): StillClock => {
  let now = start
  return {
    now: () => now,
    tick: () => now,
    pass(ms) {
      now += ms
    },
  }
}

export interface House {
  readonly store: Store
  readonly clock: StillClock
  readonly pepper: Uint8Array
  readonly tenants: Tenancy
  readonly account: AccountRow
}

/** Builds a house and takes it down when the test ends. */
export const openHouse = async (
  t: { teardown(fn: () => unknown): unknown },
  daemon = false,
): Promise<House> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-tenant-'))
  const store = await openStoreIn(dataDir, { daemon })
  t.teardown(async () => {
    await store.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  await store.open()
  await store.migrate()
  const clock = stillClock()
  const pepper = randomBytes(32)
  const tenants = createTenants({ store, pepper, clock, perMinute: 600, authFailures: 5 })
  return { store, clock, pepper, tenants, account: await tenants.ensureAccount() }
}

/** The code of the Fault that this rejects with; anything else is thrown on. */
export const codeOf = async (work: Promise<unknown>): Promise<FaultCode | null> => {
  try {
    await work
    return null
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
}

/** The fields, with their kinds, of the 422 that this rejects with. */
export const fieldsOf = async (work: Promise<unknown>): Promise<readonly string[]> => {
  try {
    await work
    return []
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return (error.options.errors ?? []).map(({ field, kind }) => `${field} ${kind}`)
  }
}
