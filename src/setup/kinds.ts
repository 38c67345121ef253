/**
 * NAME      kinds - what the words of a setup mean: how each kind is read, compared, made, changed and removed
 *   The checks and the verbs are those of tenant/ and webhook/; there is no rule here that another door has not.
 */
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { type FieldError, orElse, orFault } from '../base/fault.js'
import { unseal } from '../base/secret.js'
import { camel } from '../base/text.js'
import type { Role } from '../config/identity.js'
import { dkimRecord, loadDkimKey } from '../mail/dkim.js'
import { readTag, tagText } from '../mail/query.js'
import { person as personRecord } from '../resource/people.js'
import { poolRecord, workspaceRecord } from '../resource/tenants.js'
import { webhook as webhookRecord } from '../resource/webhook.js'
import { ALARMS, alarmLimitText, readAlarmLimit, readSoftLimit, SOFT_KINDS } from '../store/port/alarms.js'
import type { KnownEndpoint } from '../store/port/hooks.js'
import type { UserRow } from '../store/port/identity.js'
import type { DomainRow, KnownPool, ManagedKind, UpstreamRow, WorkspaceRow } from '../store/port/tenants.js'
import {
  addDomain,
  type Brought,
  isSelector,
  normalDomain,
  removeDomain,
  wrongWithDomain,
} from '../tenant/domain/domain.js'
import { changePerson, checkNewPerson, createPerson } from '../tenant/people.js'
import {
  createPool,
  deletePool,
  mergeMembers,
  type PoolWish,
  UPSTREAM_SEAL,
  updatePool,
  wrongWithPool,
} from '../tenant/pool.js'
import { listOfAccount, listOfWorkspace } from '../tenant/suppression.js'
import {
  keyText,
  type MemberWish,
  parseUpstream,
  queryText,
  secretWord,
  upstreamUrl,
  upstreamWords,
  withWord,
} from '../tenant/upstream.js'
import {
  createWorkspace,
  updateWorkspace,
  type WorkspaceWish,
  wrongWithWorkspace,
} from '../tenant/workspace.js'
import {
  createEndpoint,
  deleteEndpoint,
  headersOf,
  loginOf,
  signingSecretOf,
  updateEndpoint,
  type WishedEndpoint,
  wrongWithChange,
  wrongWithEndpoint,
} from '../webhook/endpoints.js'
import { newSigningSecret } from '../webhook/formats.js'
import { credential, key } from './access.js'
import type { Declared, InlineUpstream } from './files.js'
import {
  givenSecret,
  type Kind,
  type OwnedRow,
  outOf,
  ownerOf,
  plainOf,
  SAME,
  saidOf,
  secretField,
  secretFor,
  sorted,
  tried,
} from './kind.js'
import { importList, readList } from './lists.js'
import { type FileRef, markOf, readSecret, secretIn } from './secrets.js'
import { poolName, type SetupDeps, slugOf, workspaceNamed } from './world.js'

/** The URL of an upstream, and marks of what is sealed of it by the words of the URL. */
const describeUpstream = (pepper: Uint8Array, row: UpstreamRow) => {
  const { oauth, service } = row
  const word = secretWord(service)
  const sealed: readonly (readonly [string, string | null | undefined])[] = [
    [word, row.sealedPassword],
    ['client_secret_file', oauth?.sealedSecret],
    ['refresh_token_file', oauth?.sealedRefreshToken],
  ]
  const secrets = sealed.flatMap(([name, text]) => {
    if (text == null) return []
    try {
      const secret = unseal(pepper, UPSTREAM_SEAL, text)
      const whole = service == null ? secret : keyText(service, row.user ?? '', secret)
      return [[name, markOf(pepper, whole)]]
    } catch {
      // sealed under another pepper
      return [[name, 'unknown']]
    }
  })
  const words = {
    ...upstreamWords(row),
    ...{ token_file: oauth?.tokenFile, service_account_file: oauth?.serviceAccountFile },
    ...{ token_url: oauth?.tokenUrl, client_id: oauth?.clientId, scope: oauth?.scope },
  }
  const query = queryText(words)
  const url = `${upstreamUrl(row)}${query === '' ? '' : `?${query}`}`
  return { url, secrets: Object.fromEntries(secrets) }
}

export type DescribedUpstream = ReturnType<typeof describeUpstream>

const membersOf = async (one: Declared, errors: FieldError[]): Promise<readonly MemberWish[] | undefined> => {
  const upstreams = one.given.upstreams as readonly (string | InlineUpstream)[] | undefined
  if (upstreams === undefined) return undefined
  const members: MemberWish[] = []
  for (const [i, upstream] of upstreams.entries()) {
    const at = `upstreams[${i}]`
    const { url, secrets } = typeof upstream === 'string' ? { url: upstream, secrets: {} } : upstream
    const secret = async (path: string, word: string): Promise<string> =>
      (secrets as Record<string, string>)[word] ?? readSecret(resolve(one.folder, path), `${at}.${word}`)
    const text = Object.keys(secrets).reduce((all, word) => withWord(all, word, 'given'), url)
    const member = await tried(errors, () => parseUpstream(text, secret, at, one.folder))
    if (member !== undefined) members.push(member)
  }
  return members
}

const pool: Kind<KnownPool> = {
  rows: ({ pools }) => pools,
  load: ({ store }, accountId, id) => store.pool(accountId, id),
  keyOf: (_world, { name }) => ({ workspace: '', name }),
  matches: (_context, one, row) => row.name === one.name,
  isBuiltIn: (row) => row.kind === 'sandbox',
  describe: ({ deps }, row) => ({
    upstreams: row.upstreams.map((upstream) => describeUpstream(deps.pepper, upstream)),
    ...saidOf('pool', poolRecord(row)),
  }),
  async want({ deps, world: { accountId } }, one, row) {
    const errors: FieldError[] = []
    const { given, name } = one
    const members = await membersOf(one, errors)
    const wish = {
      ...(camel(given) as Pick<PoolWish, 'returnPath' | 'notifySuccess' | 'relayedMeans'>),
      name,
      // their numbers count in what follows: all of them, or none
      members: errors.length === 0 ? members : undefined,
    }
    errors.push(...wrongWithPool(wish))
    const merged =
      members === undefined || errors.length > 0
        ? undefined
        : await tried(errors, () => mergeMembers(deps, members, row?.upstreams ?? []))
    return {
      fields: {
        ...given,
        ...(merged !== undefined && {
          upstreams: merged.map((upstream) => describeUpstream(deps.pepper, upstream)),
        }),
      },
      errors,
      make: async (acting) => (await createPool(acting, accountId, wish)).id,
      change: (acting) => updatePool(acting, accountId, row?.id ?? name, wish),
    }
  },
  remove: (deps, accountId, { id }) => deletePool(deps, accountId, id),
}

const alarmsIn = (given: Record<string, string>, errors: FieldError[]) =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, text]) => {
      const alarm = ALARMS.find((known) => known === name)
      const limit = alarm === undefined ? null : readAlarmLimit(alarm, text)
      if (limit !== null) return [[name, limit] as const]
      const message =
        alarm === undefined
          ? `is not one of ${ALARMS.join(', ')}`
          : 'must be a share and a count such as 0.3%/5 (0.01% to 100%, 1 to 1000000), off, or default'
      errors.push({ field: `alarms.${name}`, kind: 'format', message })
      return []
    }),
  )

const softIn = (given: Record<string, string>, errors: FieldError[]) =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, text]) => {
      const read = readSoftLimit(name, text)
      if (read !== null) return [[read.kind, read.limit] as const]
      const message = `must be a kind (${SOFT_KINDS.join(', ')}) with a count and days such as 8/30d`
      errors.push({ field: `suppress_soft.${name}`, kind: 'format', message })
      return []
    }),
  )

const softText = (limits: Readonly<Record<string, { bounces: number; days: number } | undefined>>) =>
  Object.fromEntries(
    SOFT_KINDS.flatMap((kind) => {
      const limit = limits[kind]
      return limit === undefined ? [] : [[kind, `${limit.bounces}/${limit.days}d`]]
    }),
  )

const alarmsText = (alarms: WorkspaceRow['alarms']) =>
  Object.fromEntries(
    ALARMS.flatMap((alarm) => {
      const limit = alarms[alarm]
      return limit === undefined ? [] : [[alarm, alarmLimitText(limit)]]
    }),
  )

const routesText = (routes: readonly (readonly [domain: string, pool: string])[]) =>
  Object.fromEntries([...routes].sort(([a], [b]) => (a < b ? -1 : 1)))

const workspaceWish = (one: Declared, errors: FieldError[]) => {
  const { given } = one
  const alarms = alarmsIn((given.alarms ?? {}) as Record<string, string>, errors)
  const suppressSoft = softIn((given.suppress_soft ?? {}) as Record<string, string>, errors)
  const routes = Object.entries((given.routes ?? {}) as Record<string, string>)
  const wish: WorkspaceWish & { readonly name: string } = {
    ...(camel(given) as WorkspaceWish),
    name: (given.name as string | undefined) ?? one.name,
    slug: one.name,
    ...(given.alarms !== undefined && {
      alarms: Object.fromEntries(
        Object.entries(alarms).map(([name, limit]) => [
          name,
          limit === 'off' ? limit : { rate: limit.rate, at_least: limit.atLeast },
        ]),
      ),
    }),
    ...(given.suppress_soft !== undefined && { suppressSoft }),
    ...(given.routes !== undefined && { routes: routes.map(([domain, to]) => ({ domain, pool: to })) }),
  }
  return { wish, alarms, suppressSoft, routes }
}

const workspace: Kind<WorkspaceRow> = {
  rows: ({ workspaces }) => workspaces,
  load: ({ store }, accountId, id) => store.workspace(accountId, id),
  keyOf: (_world, { slug }) => ({ workspace: '', name: slug }),
  matches: (_context, one, row) => row.slug === one.name,
  describe: ({ world }, row) => ({
    ...saidOf('workspace', workspaceRecord(row)),
    pool: poolName(world, row.poolId),
    routes: routesText(row.routes.map(({ domain, poolId }) => [domain, poolName(world, poolId)])),
    alarms: alarmsText(row.alarms),
    statistics_tags: row.statisticsTags,
    suppress_soft: softText(row.suppressSoft),
  }),
  async want({ deps, world }, one, row) {
    const errors: FieldError[] = []
    const { given } = one
    const { wish, alarms, suppressSoft, routes } = workspaceWish(one, errors)
    const { name, ...rest } = wish
    const change = given.name === undefined ? rest : wish
    // a slug that it has by now is its own
    errors.push(...(await wrongWithWorkspace(deps, world.accountId, wish, row?.id ?? null)))
    return {
      fields: {
        ...given,
        ...(given.alarms !== undefined && { alarms: alarmsText({ ...row?.alarms, ...alarms }) }),
        ...(given.suppress_soft !== undefined && { suppress_soft: softText(suppressSoft) }),
        ...(given.routes !== undefined && {
          routes: routesText(routes.map(([domain, to]) => [normalRoute(domain), to])),
        }),
      },
      errors,
      make: async (acting) => (await createWorkspace(acting, world.accountId, wish)).id,
      change: (acting) => updateWorkspace(acting, world.accountId, row?.id ?? name, change),
    }
  },
}

/** A dot before it stays. */
const normalRoute = (text: string): string => {
  const [, dot = '', name = ''] = /^(\.?)(.*)$/s.exec(text.trim()) ?? []
  return dot + (normalDomain(name) ?? name)
}

interface GivenKey {
  readonly selector: string
  readonly key_file: FileRef
}

/** What receivers see of a key. */
const keyMark = (selector: string, record: string) => ({
  selector,
  key: createHash('sha256').update(record).digest('base64url').slice(0, 16),
})

/** The keys that a file brings, each looked at. */
const dkimOf = async (one: Declared, errors: FieldError[]) => {
  const keys: Brought[] = []
  for (const [i, { selector, key_file: file }] of ((one.given.dkim ?? []) as readonly GivenKey[]).entries()) {
    const at = `dkim[${i}]`
    const wrong = (field: string, message: string): void =>
      void errors.push({ field: `${at}.${field}`, kind: 'format', message })
    if (!isSelector(selector)) wrong('selector', `${selector} is no selector such as s1`)
    else if (keys.some((other) => other.selector === selector.toLowerCase()))
      wrong('selector', `${selector} stands twice`)
    const pem = await tried(errors, () => secretIn(one.folder, file, `${at}.key_file`))
    if (pem === undefined) continue
    try {
      dkimRecord(loadDkimKey(pem))
      keys.push({ selector: selector.toLowerCase(), pem })
    } catch (error) {
      wrong('key_file', (error as Error).message)
    }
  }
  return keys
}

const bySelector = <T extends { readonly selector: string }>(keys: readonly T[]): readonly T[] =>
  [...keys].sort((a, b) => (a.selector < b.selector ? -1 : 1))

const domain: Kind<DomainRow> = {
  rows: ({ domains }) => domains,
  load: ({ store }, accountId, id) => store.domain(accountId, id),
  keyOf: (_world, { name }) => ({ workspace: '', name }),
  matches: (_context, one, row) => row.name === normalDomain(one.name),
  describe: ({ world }, row) => ({
    workspace: slugOf(world, row.workspaceId) || null,
    dkim: bySelector(
      row.keys
        .filter(({ state }) => state === 'active')
        .map(({ selector, record }) => keyMark(selector, record)),
    ),
  }),
  async want(context, one, row) {
    const errors: FieldError[] = []
    const { deps, world } = context
    const slug = (one.given.workspace as string | undefined) ?? ''
    const owner = ownerOf(world, slug, errors, context.planned)
    if (row === null) errors.push(...(await wrongWithDomain(deps, world.accountId, { name: one.name })))
    const keys = await dkimOf(one, errors)
    const wish = {
      ...{ name: one.name, workspace: slug === '' ? undefined : (owner?.id ?? slug) },
      brought: one.given.dkim === undefined ? undefined : keys,
    }
    const marks = keys.map(({ selector, pem }) => keyMark(selector, dkimRecord(loadDkimKey(pem))))
    return {
      fields: {
        ...(slug !== '' && { workspace: owner === null ? slug : slugOf(world, owner.id) }),
        ...(one.given.dkim !== undefined && { dkim: bySelector(marks) }),
      },
      errors,
      alike: [`domain ${normalDomain(one.name)}`],
      make: async (acting) => (await addDomain(acting, world.accountId, wish)).id,
      change: async () => undefined,
    }
  },
  remove: (deps, accountId, { id }) => removeDomain(deps, accountId, id),
}

const webhookWish = ({
  given: { endpoint, tags, replay_rate: rate, ...given },
}: Declared): WishedEndpoint => ({
  ...camel(given),
  url: endpoint as string | undefined,
  tags: (tags as readonly string[] | undefined)?.map(readTag),
  ...{ rate },
})

/** Their names, and marks of what they say. */
const describeHeaders = (pepper: Uint8Array, headers: Readonly<Record<string, string>>) => {
  const names = sorted(Object.keys(headers))
  return { names, secrets: names.map((name) => markOf(pepper, headers[name] ?? '')) }
}

export type DescribedHeaders = ReturnType<typeof describeHeaders>

/** Of what is sealed under another pepper, the names alone. */
const headersIn = (pepper: Uint8Array, row: KnownEndpoint): DescribedHeaders =>
  orElse(() => describeHeaders(pepper, headersOf(pepper, row)), {
    names: sorted(row.headerNames),
    secrets: [],
  })

/** A mark of the login, null where there is none. */
const loginIn = (pepper: Uint8Array, row: KnownEndpoint): string | null => {
  try {
    const login = loginOf(pepper, row)
    return login && markOf(pepper, login)
  } catch {
    // sealed under another pepper
    return 'unknown'
  }
}

const givenHeaders = async (one: Declared, errors: FieldError[]): Promise<Record<string, string>> => {
  const found: Record<string, string> = {}
  for (const [name, file] of Object.entries((one.given.header_files ?? {}) as Record<string, FileRef>)) {
    const value = await tried(errors, () => secretIn(one.folder, file, `header_files.${name}`))
    if (value !== undefined) found[name] = value
  }
  return found
}

const givenLogin = async (one: Declared, errors: FieldError[]): Promise<{ readonly auth: string } | null> => {
  const file = one.given.auth_file as FileRef | undefined
  const auth = file && (await tried(errors, () => secretIn(one.folder, file, 'auth_file')))
  return auth === undefined ? null : { auth }
}

const noSecret = (secret: string | null): readonly FieldError[] => {
  if (secret === null || /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)) return []
  const message = 'must be whsec_ and 32 octets in base64, as postern webhook secret makes them'
  return [{ field: 'secret_file', kind: 'format', message }]
}

const webhook: Kind<KnownEndpoint> = {
  rows: ({ webhooks }) => webhooks,
  load: ({ store }, accountId, id) => store.endpoint(accountId, id),
  keyOf: (world, row) => ({ workspace: slugOf(world, row.workspaceId), name: new URL(row.url).hostname }),
  matches: ({ world }, one, row) =>
    row.url === one.given.endpoint &&
    row.mode === (one.given.mode ?? 'live') &&
    row.workspaceId === (workspaceNamed(world, one.workspace)?.id ?? null),
  describe: ({ deps }, row) => ({
    ...saidOf('webhook', webhookRecord(row)),
    events: sorted(row.events),
    domains: sorted(row.domains),
    tags: sorted(row.tags.map(tagText)),
    replay_rate: row.replayRate,
    auth_file: loginIn(deps.pepper, row),
    header_files: headersIn(deps.pepper, row),
    secret_file: SAME,
  }),
  async want(context, one, row) {
    const { deps, world } = context
    const { accountId } = world
    const errors: FieldError[] = []
    const { given } = one
    const owner = ownerOf(world, one.workspace, errors, context.planned)
    const secret = (await tried(errors, () => givenSecret(deps, one))) ?? null
    errors.push(...noSecret(secret))
    const headers = await givenHeaders(one, errors)
    const auth = await givenLogin(one, errors)
    const wish = {
      ...webhookWish(one),
      ...auth,
      ...(given.header_files !== undefined && { headers }),
    }
    const { url } = wish
    if (url === undefined) errors.push({ field: 'endpoint', kind: 'missing', message: 'is needed' })
    errors.push(
      ...(row === null
        ? await wrongWithEndpoint(wish, one.workspace === '', deps.dialler.refusal)
        : await wrongWithChange(deps, row, wish)),
    )
    const events = wish.events ?? ['*']
    return {
      fields: {
        ...plainOf(one),
        ...(auth !== null && { auth_file: markOf(deps.pepper, auth.auth) }),
        ...(given.header_files !== undefined && { header_files: describeHeaders(deps.pepper, headers) }),
        ...(wish.events !== undefined && { events: sorted([...new Set(events)]) }),
        ...(wish.domains !== undefined && {
          domains: sorted([...new Set(wish.domains.map((name) => normalDomain(name) ?? name))]),
        }),
        ...(wish.tags !== undefined && { tags: sorted(wish.tags.map(tagText)) }),
        ...(row !== null &&
          (await secretField(one, secret, (text) => signingSecretOf(deps.pepper, row) === text))),
      },
      errors,
      alike: outOf(deps, one),
      make: async (acting) => {
        const text = secretFor(acting, one, newSigningSecret)
        const mode = (given.mode as KnownEndpoint['mode'] | undefined) ?? 'live'
        const inside =
          owner?.id ?? (one.workspace === '' ? null : await idOf(acting, accountId, one.workspace))
        const of = { accountId, workspaceId: inside, mode }
        return (await createEndpoint(acting, of, { ...wish, url: url ?? '', events }, text)).row.id
      },
      change: (acting) =>
        updateEndpoint(acting, { accountId, workspaceId: null, mode: null }, row?.id ?? '', wish),
    }
  },
  remove: (deps, accountId, { id }) => deleteEndpoint(deps, { accountId, workspaceId: null, mode: null }, id),
}

/** Of a workspace that was made since the plan. */
const idOf = async ({ store }: SetupDeps, accountId: string, slug: string): Promise<string> => {
  const row = orFault(await store.workspace(accountId, slug), 'workspace.not_found')
  return row.id
}

/** Whose lists: a workspace's, or those of every workspace. */
type ListOwner = Pick<WorkspaceRow, 'id' | 'accountId' | 'slug' | 'createdAt'>

const EVERY = '*'
const everyOf = (accountId: string): ListOwner => ({ id: accountId, accountId, slug: EVERY, createdAt: 0 })

/** A list is its owner's, and no setup's: files are taken once for each digest. */
const suppressions: Kind<ListOwner> = {
  rows: ({ workspaces, accountId }) => [everyOf(accountId), ...workspaces],
  load: async ({ store }, accountId, id) =>
    id === accountId ? everyOf(accountId) : store.workspace(accountId, id),
  keyOf: (_world, { slug }) => ({ workspace: '', name: slug }),
  matches: (_context, one, row) => row.slug === one.name,
  describe: (_context, _row, managed) => ({
    file: managed?.applied.file ?? null,
    test_file: managed?.applied.test_file ?? null,
  }),
  async want(context, one, row) {
    const { deps, world } = context
    const { accountId } = world
    const errors: FieldError[] = []
    const owner =
      row ?? (one.name === EVERY ? everyOf(accountId) : ownerOf(world, one.name, errors, context.planned))
    const wrong = (field: string, kind: FieldError['kind'], message: string): void =>
      void errors.push({ field, kind, message })
    const { file, test_file: test } = one.given as Partial<Record<string, FileRef>>
    if (file === undefined && test === undefined) wrong('file', 'missing', 'file or test_file is needed')
    if (test !== undefined && one.name === EVERY)
      wrong('test_file', 'forbidden', 'the list of every workspace is of live mail')
    const read = async (from: FileRef | undefined, field: string) => {
      if (from === undefined) return undefined
      const [path, text] = typeof from === 'string' ? [resolve(one.folder, from), null] : [field, from.text]
      const at = { field, isEvery: one.name === EVERY }
      const found = await tried(errors, () => readList(path, text, deps.clock.now(), at))
      errors.push(...(found?.errors ?? []))
      return found
    }
    const [live, testing] = [await read(file, 'file'), await read(test, 'test_file')]
    const take = async (acting: SetupDeps): Promise<string> => {
      const id = owner?.id ?? (await idOf(acting, accountId, one.name))
      const place = one.name === EVERY ? listOfAccount(accountId) : listOfWorkspace({ id, accountId }, 'live')
      await importList(acting, place, live?.lines ?? [])
      await importList(acting, listOfWorkspace({ id, accountId }, 'test'), testing?.lines ?? [])
      return id
    }
    const said = (found: typeof live) => found && `${found.lines.length} addresses, ${found.digest}`
    const fields = {
      ...(file !== undefined && { file: said(live) ?? null }),
      ...(test !== undefined && { test_file: said(testing) ?? null }),
    }
    return { fields, errors, make: take, change: take }
  },
}

const person: Kind<UserRow> = {
  rows: ({ people }) => people,
  load: ({ store }, accountId, id) => store.user(accountId, id),
  keyOf: (_world, { email }) => ({ workspace: '', name: email }),
  matches: (_context, one, row) => row.email === one.name.trim().toLowerCase(),
  describe: (_context, row) => saidOf('person', personRecord(row)),
  async want({ world: { accountId } }, one, row) {
    const { role, name } = one.given as { readonly role?: Role; readonly name?: string | null }
    const wish = { email: one.name, name }
    const errors: FieldError[] = [...checkNewPerson(wish)]
    if (role === undefined) errors.push({ field: 'role', kind: 'missing', message: 'is needed' })
    return {
      fields: one.given,
      errors,
      alike: [`person ${one.name.trim().toLowerCase()}`],
      make: async (acting) => (await createPerson(acting, accountId, { ...wish, role: role ?? 'viewer' })).id,
      change: (acting) => (row === null ? Promise.resolve() : changePerson(acting, row, { role, name })),
    }
  },
}

export const KINDS = { pool, workspace, domain, key, credential, webhook, suppressions, person }

/** The same for a caller who does not know which row it is. */
export const kindOf = (kind: ManagedKind): Kind<OwnedRow> => KINDS[kind] as unknown as Kind<OwnedRow>
