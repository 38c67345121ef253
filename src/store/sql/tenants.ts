/**
 * NAME      tenants - accounts, workspaces, pools, keys, credentials and domains
 *   Pools hide those deleted (`deleted_at`), which live on as names of old mail.
 *   Short verbs over small tables. A name that is taken is an answer (`not_unique`) and not an error: no
 *   statement fails, so the transaction goes on.
 *   One that is deleted lives on as the name of old mail, without upstreams.
 *   Point reads and short lists. Whether an address is suppressed and what of a limit is used, which every
 *   mail asks, each engine answers in its own way.
 *   Uses are gathered for a second and written together, the latest per key. What a crash loses is at most
 *   that second of a best-effort fact.
 */
import { entryOf } from '../../lifecycle/suppress.js'
import { limitOf, type WarmupDay } from '../../lifecycle/warmup.js'
import { numbered } from '../pools.js'
import type { ReturnPathRing } from '../port/cluster.js'
import type { EventNotice } from '../port/log.js'
import { plain } from '../port/row.js'
import {
  ACCOUNT_ROW,
  type AccountRow,
  type Accounts,
  CREDENTIAL_ROW,
  type CredentialRow,
  type Credentials,
  DOMAIN_REPORT_ROW,
  DOMAIN_ROW,
  type DomainReportRow,
  type DomainReports,
  type DomainRow,
  type Domains,
  KEY_ROW,
  type KeyRow,
  type Keys,
  type KnownPool,
  POOL_ROW,
  type PoolRow,
  type Pools,
  SUPPRESSION_ROW,
  type SuppressionRow,
  type Tenants,
  type UpstreamRow,
  WORKSPACE_ROW,
  type WorkspaceChange,
  type WorkspaceRow,
  type Workspaces,
  type Written,
} from '../port/tenants.js'
import type { PendingSuppression, Warmups } from '../port/watch.js'
import { type AskedReads, type AskedWrites, type Asking, all, first, run } from './query.js'
import {
  allOf,
  change,
  insertInto,
  insertNew,
  isThere,
  oneOf,
  type Places,
  pagesOf,
  type Table,
  table,
} from './table.js'

export const ACCOUNTS = table<AccountRow>('accounts', ACCOUNT_ROW)

export const WORKSPACES = table<WorkspaceRow>('workspaces', WORKSPACE_ROW)

export const KEYS = table<KeyRow>('keys', KEY_ROW)

export const CREDENTIALS = table<CredentialRow>('credentials', CREDENTIAL_ROW)

export const POOLS = table<PoolRow>('pools', POOL_ROW)

/** Whose upstreams a pool uses is never stored: it depends on the default workspace. */
const FOLLOWS = `CASE WHEN kind = 'relay' AND upstreams = '[]' THEN (SELECT w.pool_id FROM workspaces w
  WHERE w.account_id = pools.account_id AND w.is_default = 1 AND w.pool_id <> pools.id) END AS follows`

const KNOWN_POOLS: Pick<Table<KnownPool>, 'name' | 'columns' | 'decode'> = {
  name: POOLS.name,
  columns: `${POOLS.columns}, ${FOLLOWS}`,
  decode: (row) => ({ ...POOLS.decode(row), follows: row.follows as string | null }),
}

/** In the column of its list, those of a workspace alone stood once. */
const LIST = { list: 'workspace_id' } as const

export const SUPPRESSIONS = table<SuppressionRow>('suppressions', SUPPRESSION_ROW, LIST)

/** Those that wait for the decision of an incident. */
export const PENDING = table<PendingSuppression>(
  'pending_suppressions',
  { ...SUPPRESSION_ROW, incidentId: plain() },
  LIST,
)

export const DOMAINS = table<DomainRow>('domains', DOMAIN_ROW)

/** What has been used, when, and from where. */
export type Touch = Readonly<Parameters<Keys['touch']>>

export interface TenantParts {
  readonly places: Places
  /** Pools have changed, or what uses them has. */
  poolsChanged(now: number): Asking<void>
  now(): number
}

const written = (isNew: boolean): Written => (isNew ? 'done' : 'not_unique')

const idOf = function* (text: string, ...values: readonly unknown[]): Asking<string | null> {
  return ((yield* first(text, ...values))?.id as string | undefined) ?? null
}

/** The pool of a workspace that no other one uses, if it has no upstreams. */
const poolOf = (workspaceId: string): Asking<string | null> =>
  idOf(
    `SELECT p.id FROM workspaces w JOIN pools p ON p.id = w.pool_id WHERE w.id = ? AND p.kind = 'relay'
       AND p.upstreams = '[]' AND NOT EXISTS (SELECT 1 FROM workspaces o WHERE o.pool_id = p.id AND o.id <> ?)`,
    ...[workspaceId, workspaceId],
  )

const unusedPool = (accountId: string, name: string): Asking<string | null> =>
  idOf(
    `SELECT id FROM pools WHERE account_id = ? AND name = ? AND deleted_at IS NULL AND kind = 'relay'
       AND upstreams = '[]' AND NOT EXISTS (
         SELECT 1 FROM workspaces w WHERE w.pool_id = pools.id OR replace(w.routes, pools.id, '') <> w.routes)`,
    ...[accountId, name],
  )

/** Workspaces and the pools that are theirs alone. */
const owning = (places: Places): AskedWrites<Workspaces> => {
  const addWorkspace = insertNew(WORKSPACES, places)
  const addPool = insertNew(POOLS, places)
  /** Under the first of `shop`, `shop-2` … that is free; with `known` an unused one is taken instead. */
  function* addNumbered(pool: PoolRow, known: boolean): Asking<string> {
    for (let n = 1; ; n++) {
      const name = numbered(pool.name, n)
      const found = known ? yield* unusedPool(pool.accountId, name) : null
      if (found !== null) return found
      if (yield* addPool({ ...pool, name })) return pool.id
    }
  }
  return {
    *createWorkspace(workspace, own) {
      if (own !== undefined) {
        // it must be there first, and must not stay behind where the slug is taken
        const taken = 'SELECT 1 FROM workspaces WHERE account_id = ? AND slug = ?'
        if (yield* isThere(taken, workspace.accountId, workspace.slug)) return 'not_unique'
        yield* addNumbered(own, false)
      }
      return written(yield* addWorkspace(workspace))
    },
    *ownPool(workspaceId, fresh) {
      return (yield* poolOf(workspaceId)) ?? (yield* addNumbered(fresh, true))
    },
  }
}

const isSlugTaken = (id: string, slug: string): Asking<boolean> =>
  isThere(
    `SELECT 1 FROM workspaces WHERE account_id = (SELECT account_id FROM workspaces WHERE id = ?)
       AND slug = ? AND id <> ?`,
    ...[id, slug, id],
  )

const TOUCH: Readonly<Record<'key' | 'credential', string>> = {
  key: 'UPDATE keys SET last_used_at = ?, last_used_from = ? WHERE id = ? AND coalesce(last_used_at, 0) <= ?',
  credential:
    'UPDATE credentials SET last_used_at = ?, last_used_from = ? WHERE id = ? AND coalesce(last_used_at, 0) <= ?',
}

function* touchAll(touched: readonly Touch[]): Asking<void> {
  for (const [kind, id, at, from] of touched) {
    if (kind === 'session')
      yield* run('UPDATE sessions SET last_seen_at = ? WHERE id = ? AND last_seen_at < ?', at, id, at)
    else yield* run(TOUCH[kind], at, from, id, at)
  }
}

const credentialWrites = (places: Places): AskedWrites<Credentials> => {
  const add = insertNew(CREDENTIALS, places)
  return {
    *createCredential(credential) {
      return written(yield* add(credential))
    },
    *importCredentials(credentials) {
      const taken: string[] = []
      for (const credential of credentials) if (!(yield* add(credential))) taken.push(credential.id)
      return { changed: credentials.length - taken.length, taken }
    },
    *revokeCredential(accountId, id) {
      return (yield* run('DELETE FROM credentials WHERE account_id = ? AND id = ?', accountId, id)) === 1
    },
  }
}

export const tenantWrites = ({ places, poolsChanged, now }: TenantParts) => {
  const addAccount = insertInto(ACCOUNTS, places)
  const addWorkspace = insertInto(WORKSPACES, places)
  const addPool = insertInto(POOLS, places)
  const addKey = insertInto(KEYS, places)
  const rows: AskedWrites<Accounts & Keys> = {
    *createAccount(account, { workspace, pools }) {
      yield* addAccount(account)
      for (const pool of pools) yield* addPool(pool)
      yield* addWorkspace(workspace)
    },
    *setPepperMark(mark, onlyFirst = false) {
      if (onlyFirst && (yield* first('SELECT mark FROM pepper')) !== null) return
      yield* run('DELETE FROM pepper')
      yield* run('INSERT INTO pepper (mark) VALUES (?)', mark)
    },
    *createKey(key) {
      yield* addKey(key)
    },
    *rotateKey(accountId, id, next, endsAt) {
      const isThere =
        (yield* run(
          'UPDATE keys SET expires_at = CASE WHEN expires_at < ? THEN expires_at ELSE ? END WHERE account_id = ? AND id = ?',
          ...[endsAt, endsAt, accountId, id],
        )) === 1
      if (isThere) yield* addKey(next)
      return isThere
    },
    *revokeKey(accountId, id) {
      return (yield* run('DELETE FROM keys WHERE account_id = ? AND id = ?', accountId, id)) === 1
    },
  }
  return {
    ...rows,
    ...owning(places),
    ...credentialWrites(places),
    touchAll,
    *updateWorkspace(id: string, part: WorkspaceChange): Asking<Written> {
      if (part.slug !== undefined && (yield* isSlugTaken(id, part.slug))) return 'not_unique'
      yield* change(WORKSPACES, part, 'id = ?', id)
      if (part.poolId !== undefined) yield* poolsChanged(now())
      return 'done'
    },
  }
}

/** `addNotice` writes in the commit that runs. */
export const domainWrites = (
  places: Places,
  addNotice: (notice: EventNotice) => Asking<unknown>,
): AskedWrites<Domains> => {
  const add = insertNew(DOMAINS, places)
  return {
    *createDomain(row) {
      return written(yield* add(row))
    },
    *updateDomain({ id, accountId, createdAt, name, ...rest }, updatedAt, notice) {
      const where = 'account_id = ? AND id = ? AND updated_at = ?'
      const isDone = (yield* change(DOMAINS, rest, where, accountId, id, updatedAt)) === 1
      if (isDone && notice !== null) yield* addNotice(notice)
      return isDone
    },
    *removeDomain(accountId, id) {
      yield* run('DELETE FROM domain_reports WHERE account_id = ? AND domain_id = ?', accountId, id)
      return (yield* run('DELETE FROM domains WHERE account_id = ? AND id = ?', accountId, id)) === 1
    },
  }
}

interface PoolParts extends TenantParts {
  /** Whether mail waits in it, is held or under way. */
  hasMail(poolId: string): Asking<boolean>
}

const isUsed = (id: string): Asking<boolean> =>
  isThere(
    "SELECT 1 FROM workspaces WHERE pool_id = ? OR replace(routes, ?, '') <> routes LIMIT 1",
    ...[id, id],
  )

function* upstreamsOf(id: string): Asking<PoolRow['upstreams']> {
  return JSON.parse(String((yield* first('SELECT upstreams FROM pools WHERE id = ?', id))?.upstreams ?? '[]'))
}

export const poolWrites = ({ places, poolsChanged, hasMail, now }: PoolParts): AskedWrites<Pools> => {
  const add = insertNew(POOLS, places)
  return {
    *createPool(pool) {
      const isNew = yield* add(pool)
      yield* poolsChanged(pool.createdAt)
      return written(isNew)
    },
    *updatePool({ id, accountId, createdAt, ...rest }) {
      const other = 'SELECT 1 FROM pools WHERE account_id = ? AND name = ? AND deleted_at IS NULL AND id <> ?'
      if (yield* isThere(other, accountId, rest.name, id)) return 'not_unique'
      yield* forgetWarmups(yield* upstreamsOf(id), rest.upstreams)
      yield* change(POOLS, rest, 'id = ? AND deleted_at IS NULL', id)
      yield* poolsChanged(rest.updatedAt)
      return 'done'
    },
    *deletePool(accountId, id) {
      const mine = 'SELECT kind FROM pools WHERE account_id = ? AND id = ? AND deleted_at IS NULL'
      const pool = yield* first(mine, accountId, id)
      if (pool === null) return 'not_found'
      if (pool.kind === 'sandbox' || (yield* isUsed(id)) || (yield* hasMail(id))) return 'in_use'
      yield* forgetWarmups(yield* upstreamsOf(id), [])
      yield* run("UPDATE pools SET deleted_at = ?, upstreams = '[]' WHERE id = ?", now(), id)
      return 'done'
    },
    // sealed text is base64url: it stands in the JSON as it is, and nowhere else
    *rotateToken(was, is) {
      const text = `UPDATE pools SET upstreams = replace(upstreams, ?, ?)
        WHERE deleted_at IS NULL AND replace(upstreams, ?, '') <> upstreams`
      return (yield* run(text, was, is, was)) > 0
    },
  }
}

const workspaceById = oneOf(WORKSPACES, 'id = ? AND account_id = ? AND deleted_at IS NULL')
const workspaceBySlug = oneOf(WORKSPACES, 'slug = ? AND account_id = ? AND deleted_at IS NULL')
const poolByRef = oneOf(
  KNOWN_POOLS,
  'account_id = ? AND (id = ? OR name = ?) AND deleted_at IS NULL ORDER BY id = ? DESC',
)
const suppressionByRef = oneOf(SUPPRESSIONS, 'workspace_id = ? AND (id = ? OR email = ?)')
const domainByName = oneOf(DOMAINS, 'account_id = ? AND name = ?')
const domainById = oneOf(DOMAINS, 'account_id = ? AND id = ?')
const pages = {
  workspaces: pagesOf(WORKSPACES),
  keys: pagesOf(KEYS),
  credentials: pagesOf(CREDENTIALS),
  pools: pagesOf(KNOWN_POOLS),
  suppressions: pagesOf(SUPPRESSIONS),
  domains: pagesOf(DOMAINS),
}

export const tenantReads: AskedReads<Omit<Tenants, 'suppressed'> & Domains> = {
  account: oneOf(ACCOUNTS, 'id = ?'),
  accounts: allOf(ACCOUNTS, 'true ORDER BY ord'),
  *pepperMark() {
    return ((yield* first('SELECT mark FROM pepper'))?.mark as string | undefined) ?? null
  },
  /** No slug begins like an id. */
  workspace: (accountId, ref) =>
    ref.startsWith('ws_') ? workspaceById(ref, accountId) : workspaceBySlug(ref, accountId),
  workspaces: (accountId, page, only = null) =>
    only === null
      ? pages.workspaces('account_id = ? AND deleted_at IS NULL', [accountId], page)
      : pages.workspaces('account_id = ? AND deleted_at IS NULL AND id = ?', [accountId, only], page),
  keyByLookup: oneOf(KEYS, 'lookup = ?'),
  key: oneOf(KEYS, 'account_id = ? AND id = ?'),
  keys: (accountId, page, lookup = null) =>
    lookup === null
      ? pages.keys('account_id = ?', [accountId], page)
      : pages.keys('account_id = ? AND lookup = ?', [accountId, lookup], page),
  credential: oneOf(CREDENTIALS, 'id = ?'),
  credentialsByUsername: allOf(CREDENTIALS, 'username = ? ORDER BY ord'),
  credentialsByRange: allOf(CREDENTIALS, 'cidr IS NOT NULL ORDER BY ord'),
  credentialByCertificate: oneOf(CREDENTIALS, 'certificate_fingerprint = ?'),
  credentials: (accountId, page) => pages.credentials('account_id = ?', [accountId], page),
  pool: (accountId, ref) => poolByRef(accountId, ref, ref, ref),
  pools: (accountId, page) => pages.pools('account_id = ? AND deleted_at IS NULL', [accountId], page),
  allPools: allOf(KNOWN_POOLS, 'deleted_at IS NULL ORDER BY ord'),
  suppression: (list, ref) => suppressionByRef(list, ref, ref),
  suppressions: (list, origin, page, mailingList = null) => {
    const [where, values] = ['workspace_id = ?', [list]]
    if (origin !== null) values.push(origin)
    if (mailingList !== null) values.push(`%${entryOf('', mailingList).replaceAll('_', '\\_')}`)
    const ofOrigin = origin === null ? '' : ' AND origin = ?'
    const ofList = mailingList === null ? '' : " AND email LIKE ? ESCAPE '\\'"
    return pages.suppressions(`${where}${ofOrigin}${ofList}`, values, page)
  },
  *domain(accountId, ref) {
    return (yield* domainByName(accountId, ref)) ?? (yield* domainById(accountId, ref))
  },
  domains: (accountId, page, workspaceId = null) =>
    workspaceId === null
      ? pages.domains('account_id = ?', [accountId], page)
      : pages.domains('account_id = ? AND workspace_id = ?', [accountId, workspaceId], page),
  allDomains: allOf(DOMAINS, 'true ORDER BY ord'),
}

function* ring(): Asking<string | null> {
  return ((yield* first('SELECT ring FROM return_path'))?.ring as string | undefined) ?? null
}

export const ringReads: AskedReads<ReturnPathRing> = { returnPathRing: ring }

export const ringWrites: AskedWrites<ReturnPathRing> = {
  *replaceReturnPathRing(was, is) {
    if ((yield* ring()) !== was) return false
    yield* run('DELETE FROM return_path')
    yield* run('INSERT INTO return_path (ring) VALUES (?)', is)
    return true
  },
}

const GATHER_MS = 1000

export interface Touches {
  touch(...touch: Touch): void
  flush(): void
}

export const createTouches = (write: (touched: readonly Touch[]) => void): Touches => {
  const gathered = new Map<string, Touch>()
  let timer: NodeJS.Timeout | null = null
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (gathered.size === 0) return
    const touched = [...gathered.values()]
    gathered.clear()
    write(touched)
  }
  return {
    touch(...touch) {
      gathered.set(touch[1], touch)
      timer ??= setTimeout(flush, GATHER_MS).unref()
    },
    flush,
  }
}

// What upstreams that warm up were given, day by day. A row for each day of a warm-up on which its upstream took
// mail. Who takes of a day locks its row, so what all daemons take together is never more than the day allows; what
// one that died had taken and not given stays counted.

const DAYS = 'SELECT id, day, used, began_at AS "beganAt" FROM warmup_days ORDER BY id, day'
const EARLIER = 'SELECT count(*) AS n FROM warmup_days WHERE id = ? AND day < ? AND used > 0'
/** Whoever asks at the same moment waits here. */
const LOCK = `INSERT INTO warmup_days (id, day, used, began_at) VALUES (?, ?, 0, ?)
  ON CONFLICT (id, day) DO UPDATE SET used = warmup_days.used RETURNING used`
const TAKE = `UPDATE warmup_days SET used = used + ?, began_at = CASE WHEN used = 0 THEN ? ELSE began_at END
  WHERE id = ? AND day = ?`
const RETURN = `UPDATE warmup_days SET used = CASE WHEN used > ? THEN used - ? ELSE 0 END WHERE id = ? AND day = ?`

export const warmupReads: AskedReads<Warmups> = {
  *warmupDays() {
    return (yield* all(DAYS)) as unknown as readonly WarmupDay[]
  },
}

export const warmupWrites: AskedWrites<Warmups> = {
  *takeWarmup({ id, day, count, now, ...plan }) {
    const earlier = Number((yield* first(EARLIER, id, day))?.n)
    const limit = limitOf(plan, earlier + 1)
    if (limit === null) return { granted: count, left: null }
    const used = Number((yield* first(LOCK, id, day, now))?.used)
    const granted = Math.max(0, Math.min(count, limit - used))
    if (granted > 0) yield* run(TAKE, granted, now, id, day)
    return { granted, left: Math.max(0, limit - used - granted) }
  },
  *returnWarmup(id, day, count) {
    yield* run(RETURN, count, count, id, day)
  },
}

/** Warm-ups of `before` that are none of `after` are counted no more. */
function* forgetWarmups(before: readonly UpstreamRow[], after: readonly UpstreamRow[]): Asking<void> {
  for (const { warmup } of before) {
    if (warmup == null || after.some((one) => one.warmup?.id === warmup.id)) continue
    yield* run('DELETE FROM warmup_days WHERE id = ?', warmup.id)
  }
}

// Reports of receivers, by the domain that they are about.

const REPORTS = table<DomainReportRow>('domain_reports', DOMAIN_REPORT_ROW)

const DAY = 86_400_000
const STEP = 200

const reportPages = pagesOf(REPORTS)

export const domainReportReads: AskedReads<DomainReports> = {
  domainReports(domainId, { kind, from, to }, page) {
    const wanted = [
      ['kind = ?', kind],
      ['begins >= ?', from],
      ['begins < ?', to],
    ].filter(([, value]) => value !== null)
    const where = ['domain_id = ?', ...wanted.map(([text]) => text)].join(' AND ')
    return reportPages(where, [domainId, ...wanted.map(([, value]) => value)], page)
  },
}

export const domainReportWrites = (places: Places): AskedWrites<DomainReports> => {
  const add = insertNew(REPORTS, places)
  return {
    *addDomainReport(row, most) {
      const { accountId, domainId, digest, receivedAt } = row
      const mine = 'SELECT 1 FROM domains WHERE account_id = ? AND id = ?'
      if (!(yield* isThere(mine, accountId, domainId))) return 'no_domain'
      const same = 'SELECT 1 FROM domain_reports WHERE domain_id = ? AND digest = ?'
      if (yield* isThere(same, domainId, digest)) return 'known'
      const text = 'SELECT count(*) AS n FROM domain_reports WHERE domain_id = ? AND received_at > ?'
      if (Number((yield* first(text, domainId, receivedAt - DAY))?.n) >= most) return 'full'
      return (yield* add(row)) ? 'added' : 'known'
    },
  }
}

const OLD = `DELETE FROM domain_reports WHERE id IN
  (SELECT id FROM domain_reports WHERE received_at < ? LIMIT ${STEP})`

/** How many of those that came before this time are gone. */
export const sweepDomainReports = (before: number): Asking<number> => run(OLD, before)
