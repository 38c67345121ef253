/**
 * NAME      tenants - who is who, and what is suppressed
 */

import { countSends } from '../../src/lifecycle/accept.js'
import { isPaused } from '../../src/lifecycle/orders.js'
import type { Page, Rows } from '../../src/lifecycle/page.js'
import { isSuppressing, partsOfEntry } from '../../src/lifecycle/suppress.js'
import { numbered } from '../../src/store/pools.js'
import type { ReturnPathRing } from '../../src/store/port/cluster.js'
import type { EventNotice } from '../../src/store/port/log.js'
import {
  type Domains,
  isRoutedTo,
  type KeyRow,
  type KnownPool,
  type PoolRow,
  type SuppressionRow,
  type Tenants,
  type Written,
} from '../../src/store/port/tenants.js'
import { oneForEach, strongestOf } from '../../src/store/rules/tenants.js'
import { createSuppressionEvents } from '../../src/store/sql/suppressions.js'
import { pageOf } from './page.js'
import type { Plain } from './plain.js'
import type { State, Table } from './state.js'
import { forgetWarmups } from './subjects/warmup.js'

/** The verbs that touch what waits are the queue's (operations.ts). */
type TenantVerbs = Plain<
  Omit<Tenants, 'updateWorkspace' | 'suspendWorkspace' | 'resumeWorkspace' | 'deleteWorkspace'>
> &
  Plain<Domains> &
  Plain<ReturnPathRing>

type Owned = { readonly id: string; readonly accountId: string }

export const listed = <Row extends object>(
  table: Table<Row>,
  wanted: (row: Row) => boolean,
  page: Page,
  idOf: (row: Row) => string | undefined = (row) => (row as { readonly id?: string }).id,
): Rows<Row> =>
  pageOf(
    table.all().filter(({ row }) => wanted(row)),
    page,
    ({ row }) => row,
    ({ row }, id) => idOf(row) === id,
  )

export const owned = <Row extends Owned>(table: Table<Row>, accountId: string, id: string): Row | null => {
  const row = table.get(id)
  return row?.accountId === accountId ? row : null
}

export const removed = <Row extends Owned>(table: Table<Row>, accountId: string, id: string): boolean =>
  owned(table, accountId, id) !== null && table.delete(id)

/** Adds a row unless `isTaken` of one that is there. */
export const addUnless = <Row extends Owned>(
  table: Table<Row>,
  row: Row,
  isTaken: (other: Row) => boolean,
): Written => {
  if (table.get(row.id) !== null || table.where(isTaken).length > 0) return 'not_unique'
  table.add(row.id, row)
  return 'done'
}

/** Writes down which pools are paused by now, and which no more. */
export const notePauses = (state: State, now: number): void => {
  for (const pool of state.pools.where(({ kind }) => kind === 'relay')) {
    const leader = state.pools.get(known(state, pool).follows ?? pool.id)
    const standing = state.pauses.where(({ poolId, to }) => poolId === pool.id && to === null)[0]
    if (isPaused(leader?.upstreams ?? [])) {
      if (standing === undefined) {
        const id = `${pool.id} ${state.pauses.all().length}`
        state.pauses.add(id, { id, poolId: pool.id, from: now, to: null })
      }
    } else if (standing !== undefined) state.pauses.change(standing.id, { to: Math.max(now, standing.from) })
  }
}

const known = (state: State, pool: PoolRow): KnownPool => {
  const [first] = state.workspaces.where((row) => row.accountId === pool.accountId && row.isDefault)
  const isFollower = pool.kind === 'relay' && pool.upstreams.length === 0
  return { ...pool, follows: isFollower && first?.poolId !== pool.id ? (first?.poolId ?? null) : null }
}

const createPools = (state: State) => {
  const { pools, workspaces, recipients } = state
  const named = (pool: PoolRow) => (other: PoolRow) =>
    other.accountId === pool.accountId && other.name === pool.name && other.id !== pool.id
  const isUsed = (id: string, except?: string): boolean =>
    workspaces.where((row) => row.id !== except && isRoutedTo(row, id)).length > 0
  const isBare = ({ kind, upstreams }: PoolRow): boolean => kind === 'relay' && upstreams.length === 0
  const pool = (accountId: string, ref: string): KnownPool | null => {
    const mine = pools.where((row) => row.accountId === accountId)
    const found = mine.find(({ id }) => id === ref) ?? mine.find(({ name }) => name === ref)
    return found === undefined ? null : known(state, found)
  }
  const addNumbered = (fresh: PoolRow, isTakeable: (pool: PoolRow) => boolean): string => {
    for (let n = 1; ; n++) {
      const named = pool(fresh.accountId, numbered(fresh.name, n))
      if (named !== null && isTakeable(named)) return named.id
      if (named !== null) continue
      pools.add(fresh.id, { ...fresh, name: numbered(fresh.name, n) })
      return fresh.id
    }
  }
  const verbs: Pick<
    TenantVerbs,
    | 'createPool'
    | 'pool'
    | 'pools'
    | 'updatePool'
    | 'deletePool'
    | 'rotateToken'
    | 'allPools'
    | 'ownPool'
    | 'createWorkspace'
  > = {
    pool,
    pools: (accountId, page) => {
      const found = listed(pools, (row) => row.accountId === accountId, page)
      return { ...found, rows: found.rows.map((row) => known(state, row)) }
    },
    allPools: () => pools.where(() => true).map((row) => known(state, row)),
    createPool(row) {
      const written = addUnless(pools, row, named(row))
      notePauses(state, row.createdAt)
      return written
    },
    updatePool(row) {
      if (pools.where(named(row)).length > 0) return 'not_unique'
      const { id, accountId, createdAt, ...rest } = row
      forgetWarmups(state, pools.get(id)?.upstreams ?? [], row.upstreams)
      pools.change(id, rest)
      notePauses(state, row.updatedAt)
      return 'done'
    },
    deletePool(accountId, id) {
      const row = owned(pools, accountId, id)
      if (row === null) return 'not_found'
      const waits = recipients.where(
        (one) => one.poolId === id && (one.dueAt !== null || one.boot !== null || one.held !== null),
      )
      if (row.kind === 'sandbox' || isUsed(id) || waits.length > 0) return 'in_use'
      forgetWarmups(state, row.upstreams, [])
      pools.delete(id)
      return 'done'
    },
    rotateToken(was, is) {
      const having = pools.where(({ upstreams }) =>
        upstreams.some(({ oauth }) => oauth?.sealedRefreshToken === was),
      )
      for (const row of having)
        pools.change(row.id, {
          upstreams: row.upstreams.map((one) =>
            one.oauth?.sealedRefreshToken === was
              ? { ...one, oauth: { ...one.oauth, sealedRefreshToken: is } }
              : one,
          ),
        })
      return having.length > 0
    },
    ownPool(workspaceId, fresh) {
      const mine = pools.get(workspaces.get(workspaceId)?.poolId ?? '')
      const isAlone =
        mine !== null &&
        workspaces.where((row) => row.id !== workspaceId && row.poolId === mine.id).length === 0
      if (mine !== null && isBare(mine) && isAlone) return mine.id
      return addNumbered(fresh, (row) => isBare(row) && !isUsed(row.id))
    },
    createWorkspace(row, own) {
      const isTaken = (other: typeof row) => other.accountId === row.accountId && other.slug === row.slug
      if (workspaces.where(isTaken).length > 0) return 'not_unique'
      if (own !== undefined) addNumbered(own, () => false)
      return addUnless(workspaces, row, isTaken)
    },
  }
  return verbs
}

const createCredentials = (state: State) => {
  const { credentials, keys } = state
  const createCredential: TenantVerbs['createCredential'] = (row) =>
    addUnless(
      credentials,
      row,
      (other) =>
        (other.workspaceId === row.workspaceId &&
          ((row.username !== null && other.username === row.username) ||
            (row.cidr !== null && other.cidr === row.cidr))) ||
        (row.certificateFingerprint !== null && other.certificateFingerprint === row.certificateFingerprint),
    )
  const createKey = (row: KeyRow): void => {
    if (keys.where(({ lookup }) => lookup === row.lookup).length > 0) throw new Error('the lookup is taken')
    keys.add(row.id, row)
  }
  return {
    createCredential,
    importCredentials(rows) {
      const taken = rows.filter((row) => createCredential(row) !== 'done').map(({ id }) => id)
      return { changed: rows.length - taken.length, taken }
    },
    credential: (id) => credentials.get(id),
    credentialsByUsername: (username) => credentials.where((row) => row.username === username),
    credentialsByRange: () => credentials.where(({ cidr }) => cidr !== null),
    credentialByCertificate: (fingerprint) =>
      credentials.where((row) => row.certificateFingerprint === fingerprint)[0] ?? null,
    credentials: (accountId, page) => listed(credentials, (row) => row.accountId === accountId, page),
    revokeCredential: (accountId, id) => removed(credentials, accountId, id),
    createKey,
    keyByLookup: (lookup) => keys.where((row) => row.lookup === lookup)[0] ?? null,
    key: (accountId, id) => owned(keys, accountId, id),
    keys: (accountId, page, lookup = null) =>
      listed(keys, (row) => row.accountId === accountId && (lookup === null || row.lookup === lookup), page),
    rotateKey(accountId, id, next, endsAt) {
      const row = owned(keys, accountId, id)
      if (row === null) return false
      keys.change(id, { expiresAt: Math.min(row.expiresAt ?? endsAt, endsAt) })
      createKey(next)
      return true
    },
    revokeKey: (accountId, id) => removed(keys, accountId, id),
  } satisfies Partial<TenantVerbs>
}

/** Takes off what an incident keeps waiting. */
const createForgive =
  ({ pendingSuppressions }: State) =>
  (list: string, ref: string): SuppressionRow | null => {
    const waiting = pendingSuppressions.where(
      (row) => row.list === list && (row.id === ref || row.email === ref),
    )[0]
    if (waiting === undefined) return null
    pendingSuppressions.delete(waiting.id)
    const { incidentId, ...row } = waiting
    return row
  }

const createSuppressions = (state: State, addNotice: (notice: EventNotice) => unknown) => {
  const { suppressions, windows } = state
  const tell = createSuppressionEvents(addNotice)
  const found = (list: string, ref: string) =>
    suppressions.where((row) => row.list === list && (row.id === ref || row.email === ref))[0] ?? null
  const forgive = createForgive(state)
  /** The row that stands already; null when this one does from now on. */
  const put = (row: SuppressionRow, isImport = false): SuppressionRow | null => {
    const now = isImport ? state.clock.now() : row.createdAt
    const held = found(row.list, row.email)
    if (held !== null && isSuppressing(held.expiresAt, now)) return held
    if (held !== null) {
      suppressions.delete(held.id)
      tell.removed(held, 'expired', now)
    }
    forgive(row.list, row.email)
    suppressions.add(row.id, row)
    if (!isImport) tell.added(row, row.createdAt)
    return null
  }
  return {
    suppression: found,
    addSuppression: (row) => put(row) ?? row,
    importSuppressions(rows) {
      const sum = { added: 0, changed: 0 }
      for (const row of oneForEach(rows).values()) {
        const held = put(row, true)
        const after = held === null ? row : strongestOf(held, row)
        suppressions.put(after.id, after)
        const isStronger = held !== null && JSON.stringify(held) !== JSON.stringify(after)
        sum.added += held === null ? 1 : 0
        sum.changed += held === null || isStronger ? 1 : 0
      }
      return sum
    },
    removeSuppression(list, ref) {
      const held = found(list, ref)
      if (held === null) return forgive(list, ref)
      suppressions.delete(held.id)
      tell.removed(held, 'removed', state.clock.now())
      return held
    },
    suppressions: (list, origin, page, mailingList = null) =>
      listed(
        suppressions,
        (row) =>
          row.list === list &&
          (origin === null || row.origin === origin) &&
          (mailingList === null || partsOfEntry(row.email).mailingList === mailingList),
        page,
      ),
    suppressed(list, emails, now) {
      const lists = [list, state.workspaces.get(list)?.accountId]
      const rows = suppressions.where((row) => lists.includes(row.list) && isSuppressing(row.expiresAt, now))
      return emails.filter((email) => rows.some((row) => row.email === email))
    },
    consume(bucket, window, n, limit) {
      const key = `${bucket} ${window}`
      const before = windows.get(key)?.used ?? 0
      const { allowed, used } = countSends(before, n, limit)
      if (n > 0 && allowed) windows.put(key, { used, at: windows.get(key)?.at ?? state.clock.now() })
      return { allowed, used }
    },
  } satisfies Partial<TenantVerbs>
}

const createDomains = (state: State, addNotice: (notice: EventNotice) => unknown): Plain<Domains> => {
  const { domains } = state
  const mine = (accountId: string, wanted: (row: { readonly name: string }) => boolean) =>
    domains.where((row) => row.accountId === accountId && wanted(row))[0] ?? null
  return {
    createDomain: (row) =>
      addUnless(domains, row, ({ accountId, name }) => accountId === row.accountId && name === row.name),
    updateDomain({ id, accountId, createdAt, name, ...rest }, updatedAt, notice) {
      if (owned(domains, accountId, id)?.updatedAt !== updatedAt) return false
      domains.change(id, rest)
      if (notice !== null) addNotice(notice)
      return true
    },
    removeDomain(accountId, id) {
      state.domainReports.drop((row) => row.accountId === accountId && row.domainId === id)
      return removed(domains, accountId, id)
    },
    domain: (accountId, ref) => mine(accountId, ({ name }) => name === ref) ?? owned(domains, accountId, ref),
    domains: (accountId, page, workspaceId = null) =>
      listed(
        domains,
        (row) => row.accountId === accountId && (workspaceId === null || row.workspaceId === workspaceId),
        page,
      ),
    allDomains: () => domains.where(() => true),
  }
}

export const createTenants = (state: State, addNotice: (notice: EventNotice) => unknown): TenantVerbs => {
  const { accounts, workspaces, keys, credentials, sessions } = state
  return {
    ...createPools(state),
    ...createCredentials(state),
    ...createSuppressions(state, addNotice),
    ...createDomains(state, addNotice),
    account: (id) => accounts.get(id),
    accounts: () => accounts.where(() => true),
    createAccount(account, { workspace, pools }) {
      accounts.add(account.id, account)
      for (const pool of pools) state.pools.add(pool.id, pool)
      workspaces.add(workspace.id, workspace)
    },
    pepperMark: () => state.marks.get('pepper'),
    setPepperMark(mark, onlyFirst = false) {
      if (!onlyFirst || state.marks.get('pepper') === null) state.marks.put('pepper', mark)
    },
    returnPathRing: () => state.marks.get('return path'),
    replaceReturnPathRing(was, is) {
      if (state.marks.get('return path') !== was) return false
      state.marks.put('return path', is)
      return true
    },
    workspace: (accountId, ref) =>
      workspaces.where(
        (row) => row.accountId === accountId && (ref.startsWith('ws_') ? row.id : row.slug) === ref,
      )[0] ?? null,
    workspaces: (accountId, page, only = null) =>
      listed(workspaces, (row) => row.accountId === accountId && (only === null || row.id === only), page),
    touch(kind, id, at, from) {
      if (kind === 'session')
        return void sessions.change(id, { lastSeenAt: Math.max(sessions.get(id)?.lastSeenAt ?? 0, at) })
      const table = kind === 'key' ? keys : credentials
      if ((table.get(id)?.lastUsedAt ?? 0) <= at) table.change(id, { lastUsedAt: at, lastUsedFrom: from })
    },
  }
}
