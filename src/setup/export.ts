/**
 * NAME      export - the files that would make this installation
 *   Everything that a setup can say, whoever made it, in the words in which it is compared: on an empty store these
 *   files make the same again. A secret is never in them: FILL-IN stands where its file is to be named. The folder is
 *   new, and only its owner can read it.
 *   What is over, such as a key whose time has come, is left out; so are people who are disabled. No field says that
 *   something is stopped, such as a suspended workspace: that is told, since what these files make is not stopped.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { toRfc3339 } from '../base/clock.js'
import { collect } from '../lifecycle/page.js'
import { partsOfEntry } from '../lifecycle/suppress.js'
import { guarded, writeCsv } from '../record/csv.js'
import { DEFAULT_POOL, SANDBOX_POOL } from '../store/pools.js'
import type { KnownEndpoint } from '../store/port/hooks.js'
import type { UserRow } from '../store/port/identity.js'
import type { KeyRow, KnownPool, ManagedKind, WorkspaceRow } from '../store/port/tenants.js'
import { type ListPlace, listOfAccount, listOfWorkspace } from '../tenant/suppression.js'
import { KIND_NAMES, SECTIONS } from './fields.js'
import { FILL_IN, keyText } from './files.js'
import type { Context, Described } from './kind.js'
import { type DescribedHeaders, type DescribedUpstream, kindOf } from './kinds.js'
import { readWorld, type SetupDeps } from './world.js'

interface Exported {
  /** By their names below the folder. */
  readonly files: ReadonlyMap<string, string>
  /** How many secrets are to be filled in. */
  readonly fillIns: number
  /** What is stopped here and is not where the files are applied, a line for each kind. */
  readonly stopped: readonly string[]
}

const isOver = (kind: ManagedKind, row: unknown, now: number): boolean => {
  if (kind === 'pool') return (row as { readonly name: string }).name === SANDBOX_POOL
  if (kind === 'key') return ((row as KeyRow).expiresAt ?? Number.POSITIVE_INFINITY) <= now
  return kind === 'person' && (row as UserRow).disabledAt !== null
}

/** With the words that name a secret's file. */
const upstreamUrl = ({ url, secrets }: DescribedUpstream): string =>
  Object.keys(secrets).reduce((all, word) => `${all}${all.includes('?') ? '&' : '?'}${word}=${FILL_IN}`, url)

/** As a file says it: what is none is left out, and secrets are to be filled in. */
const written = (kind: ManagedKind, described: Described): Described =>
  Object.fromEntries(
    Object.entries(described).flatMap(([field, value]) => {
      if (value === null) return []
      const isEmptyOf = (list: readonly unknown[]) => list.length === 0
      if (field === 'header_files') {
        const { names } = value as DescribedHeaders
        return isEmptyOf(names) ? [] : [[field, Object.fromEntries(names.map((name) => [name, FILL_IN]))]]
      }
      if (field === 'dkim') {
        const keys = value as readonly { readonly selector: string }[]
        const filled = keys.map(({ selector }) => ({ selector, key_file: FILL_IN }))
        return isEmptyOf(keys) ? [] : [[field, filled]]
      }
      if (SECTIONS[kind].fields[field]?.isSecret) return [[field, FILL_IN]]
      if (field === 'upstreams') return [[field, (value as readonly DescribedUpstream[]).map(upstreamUrl)]]
      const isEmpty = typeof value === 'object' && Object.keys(value).length === 0
      return isEmpty && (kind === 'workspace' || kind === 'webhook') ? [] : [[field, value]]
    }),
  )

/** `web`, `web-2`: a name that no other of its kind has. */
const freeName = (taken: Set<string>, wanted: string, isWithin: boolean): string => {
  // the first slash parts a workspace from a name
  const plain =
    wanted.replace(isWithin ? /[\p{Cc}\p{Cs}]/gu : /[\p{Cc}\p{Cs}/]/gu, '-').slice(0, 200) || 'unnamed'
  for (let n = 1; ; n++) {
    const name = n === 1 ? plain : `${plain}-${n}`
    if (taken.has(name)) continue
    taken.add(name)
    return name
  }
}

interface Named {
  readonly name: string
  readonly row: unknown
  readonly fields: Described
}

const namedOf = (context: Context, kind: ManagedKind, now: number): readonly Named[] => {
  const { world } = context
  const one = kindOf(kind)
  const taken = new Map<string, Set<string>>()
  const takenIn = (workspace: string): Set<string> => {
    const known = taken.get(workspace) ?? new Set<string>()
    taken.set(workspace, known)
    return known
  }
  const rows = [...one.rows(world)].filter((row) => !isOver(kind, row, now)).reverse()
  const known = rows.map((row) => ({ row, made: world.managed.find(({ objectId }) => objectId === row.id) }))
  // names that setups gave come first: they stay as they are
  known.sort((a, b) => Number(a.made === undefined) - Number(b.made === undefined))
  const named = known.map(({ row, made }) => {
    const own = one.keyOf(world, row)
    const given = made?.kind === kind && SECTIONS[kind].within !== 'never' ? made.name : own.name
    const isPlain = SECTIONS[kind].within === 'never'
    const name = isPlain ? own.name : freeName(takenIn(own.workspace), given, own.workspace !== '')
    const fields = written(kind, one.describe(context, row, null))
    return { name: keyText({ workspace: own.workspace, name }), row, fields }
  })
  return named.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const stoppedLine = (
  one: string,
  names: readonly string[],
  how: string,
  command: string,
): readonly string[] => {
  const [word, is] = names.length === 1 ? [one, 'is'] : [`${one}s`, 'are']
  const where = `${is} ${how} here, and not where these files are applied`
  return names.length === 0 ? [] : [`${word} ${names.join(', ')} ${where}: run ${command} there`]
}

/** No field of a setup says it, and mail or posts would leave. */
const stoppedIn = (found: ReadonlyMap<ManagedKind, readonly Named[]>): readonly string[] => {
  const namesOf = <Row>(kind: ManagedKind, names: (row: Row, name: string) => readonly string[]) =>
    (found.get(kind) ?? []).flatMap(({ name, row }) => names(row as Row, name))
  const workspaces = namesOf<WorkspaceRow>('workspace', ({ suspendedAt }, name) =>
    suspendedAt === null ? [] : [name],
  )
  const webhooks = namesOf<KnownEndpoint>('webhook', ({ status }, name) =>
    status === 'disabled' ? [name] : [],
  )
  const upstreams = namesOf<KnownPool>('pool', (pool, name) =>
    pool.upstreams.flatMap(({ state, host, port }) =>
      state === 'active' ? [] : [`${host}:${port} of pool ${name}`],
    ),
  )
  return [
    ...stoppedLine('workspace', workspaces, 'suspended', 'postern workspace suspend'),
    ...stoppedLine('webhook', webhooks, 'disabled', 'postern webhook update ID --disable'),
    ...stoppedLine('upstream', upstreams, 'paused or drained', 'postern upstream pause'),
  ]
}

/** A list with why, since when, until when and by what; null where it is empty. */
const listText = async ({ store }: SetupDeps, { id }: ListPlace): Promise<string | null> => {
  const rows = await collect((page) => store.suppressions(id, null, page))
  if (rows.length === 0) return null
  const hasLists = rows.some(({ email }) => partsOfEntry(email).mailingList !== null)
  const lines = [...rows]
    .sort((a, b) => (a.email < b.email ? -1 : 1))
    .map(({ email, reason, origin, createdAt, expiresAt, sourceId }) => [
      ...[
        guarded(partsOfEntry(email).email),
        reason === null ? '' : guarded(reason),
        origin,
        toRfc3339(createdAt),
      ],
      ...[expiresAt === null ? '' : toRfc3339(expiresAt), sourceId ?? ''],
      ...(hasLists ? [partsOfEntry(email).mailingList] : []),
    ])
  const head = ['email', 'reason', 'origin', 'created_at', 'expires_at', 'source_id']
  return `${writeCsv([[...head, ...(hasLists ? ['list'] : [])], ...lines])}\r\n`
}

/** What the default workspace begins with needs no words. */
const isPlainDefault = (kind: ManagedKind, name: string, fields: Described): boolean =>
  kind === 'pool' && name === DEFAULT_POOL && (fields.upstreams as readonly string[]).length === 0

export const exportSetup = async (deps: SetupDeps, accountId: string, setup: string): Promise<Exported> => {
  const world = await readWorld(deps, accountId)
  const context: Context = { deps, world, planned: new Set() }
  const files = new Map<string, string>()
  const content: Record<string, unknown> = { setup }
  const found = new Map<ManagedKind, readonly Named[]>()
  for (const kind of KIND_NAMES) {
    if (kind === 'suppressions') continue
    const section = namedOf(context, kind, deps.clock.now()).filter(
      ({ name, fields }) => !isPlainDefault(kind, name, fields),
    )
    found.set(kind, section)
    if (section.length > 0)
      content[SECTIONS[kind].section] = Object.fromEntries(section.map(({ name, fields }) => [name, fields]))
  }
  const lists: Record<string, Described> = {}
  const keep = async (of: string, field: string, name: string, place: ListPlace): Promise<void> => {
    const text = await listText(deps, place)
    if (text === null) return
    files.set(name, text)
    lists[of] = { ...lists[of], [field]: `./${name}` }
  }
  await keep('*', 'file', 'suppressed.csv', listOfAccount(accountId))
  for (const workspace of [...world.workspaces].sort((a, b) => (a.slug < b.slug ? -1 : 1))) {
    const { slug } = workspace
    await keep(slug, 'file', `suppressed-${slug}.csv`, listOfWorkspace(workspace, 'live'))
    await keep(slug, 'test_file', `suppressed-${slug}-test.csv`, listOfWorkspace(workspace, 'test'))
  }
  if (Object.keys(lists).length > 0) content[SECTIONS.suppressions.section] = lists
  const text = setupText(content)
  const stopped = stoppedIn(found)
  files.set('postern.yaml', `${stopped.map((line) => `# ${line}\n`).join('')}${text}`)
  return { files, fillIns: text.split(FILL_IN).length - 1, stopped }
}

/** One file of a setup. */
export const setupText = (content: Readonly<Record<string, unknown>>): string =>
  stringify(content, { lineWidth: 0 })

/** Into a folder that is made for it, 0700; its files are 0600. All of them, or no folder. */
export const writeExport = (folder: string, { files }: Pick<Exported, 'files'>): void => {
  mkdirSync(folder, { mode: 0o700 })
  try {
    for (const [name, text] of files) writeFileSync(join(folder, name), text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}
