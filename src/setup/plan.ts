/**
 * NAME      plan - what a setup would do, and why it leaves some things alone
 *   `+` is made, `~` is changed, `-` is removed, `!` is left alone and says why, `=` is as the files say.
 *   Rows remember which setup made them, under which name. A row of that name that a person made is left alone until it
 *   is adopted; what a person removed stays removed until it is asked for again; where a person changed what was
 *   applied, nothing of that thing is touched until it is adopted. A row that an apply was about to make when it was
 *   killed is its own.
 */
import { createHash } from 'node:crypto'
import type { FieldError } from '../base/fault.js'
import { DEFAULT_POOL, freshPool, freshWorkspace } from '../store/pools.js'
import type { KnownPool, ManagedKey, ManagedKind, ManagedRow, WorkspaceRow } from '../store/port/tenants.js'
import { KIND_NAMES, SECTIONS } from './fields.js'
import { type Declared, type Mistake, refText, type Setup, SetupError } from './files.js'
import type { Context, Described, Wanted } from './kind.js'
import { type DescribedHeaders, type DescribedUpstream, kindOf } from './kinds.js'
import { isSameKey, readWorld, type SetupDeps, type World } from './world.js'

export type Sign = '+' | '~' | '-' | '!' | '='

interface FieldChange {
  readonly field: string
  /** undefined: it was not there. */
  readonly before: string | undefined
  readonly after: string
}

export interface PlanStep extends ManagedKey {
  readonly sign: Sign
  readonly why: string | null
  readonly fields: readonly FieldChange[]
  /** Of the row that is there. */
  readonly objectId: string | null
  /** Null where nothing is done; resolves with the id of the object. */
  readonly run: ((deps: SetupDeps) => Promise<string | null>) | null
  /** The fields that the files say; of the others what was applied before stays known. */
  readonly said: readonly string[]
  /** What was applied before. */
  readonly applied: Described
  /** Kept of what cannot be read from the row: marks of secrets. */
  readonly marks: Described
  /** The row stays as it is, and is the setup's from now on, or what was applied is written anew. */
  readonly isNoted: boolean
}

export interface Plan {
  readonly setup: string
  readonly steps: readonly PlanStep[]
  /** Marks whose thing is gone, and which no file names. */
  readonly gone: readonly ManagedKey[]
  /** Of what it would do; another one after somebody changed something. */
  readonly digest: string
}

interface PlanWish {
  readonly prune: boolean
  /** `pool/eu`: taken over though a person made or changed it. */
  readonly adopt: readonly string[]
  /** Made again though a person removed it. */
  readonly again: readonly string[]
}

const shown = (value: unknown): string => {
  if (value === null || value === undefined) return 'none'
  if (Array.isArray(value)) return value.map(shown).join(', ') || 'none'
  if (typeof value !== 'object') return String(value)
  if ('url' in value) return String((value as DescribedUpstream).url)
  if ('names' in value) return (value as DescribedHeaders).names.join(', ') || 'none'
  return (
    Object.entries(value)
      .map(([name, one]) => `${name}=${shown(one)}`)
      .join(', ') || 'none'
  )
}

/** Those that differ only in a secret say so. */
const shownPair = (before: unknown, after: unknown): readonly [string, string] => {
  const [a, b] = [shown(before), shown(after)]
  return a === b && before !== undefined ? [a, `${b} with another secret`] : [a, b]
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const differing = (wanted: Described, current: Described): readonly string[] =>
  Object.keys(wanted).filter((field) => !isSame(wanted[field], current[field]))

const changesOf = (fields: readonly string[], before: Described, after: Described): readonly FieldChange[] =>
  fields.map((field) => {
    const [was, is] = shownPair(before[field], after[field])
    return { field, before: was, after: is }
  })

/** Only those whose rows do not tell them: the others are compared with the row itself. */
const marksOf = ({ kind }: ManagedKey, { fields }: Wanted): Described =>
  kind === 'suppressions'
    ? fields
    : kind === 'credential' && fields.secret_file !== undefined
      ? { secret_file: fields.secret_file }
      : {}

/** Who changed or removed it last, as the audit says. */
const lastChange = async ({ store }: SetupDeps, accountId: string, objectId: string): Promise<string> => {
  const of = { action: null, actorId: null, objectId, workspaceId: null, since: null, until: null }
  const page = { limit: 1, direction: 'older', anchor: null, countUpTo: 0 } as const
  const [entry] = (await store.audit(accountId, of, page)).rows
  if (entry === undefined) return 'by a person'
  return `by ${entry.actor.name ?? entry.actor.id} on ${new Date(entry.at).toISOString().slice(0, 10)}`
}

/** An installation begins with them: while they are as they were, they are nobody's. */
const isUntouched = (world: World, kind: ManagedKind, row: unknown): boolean => {
  const { accountId } = world
  if (kind === 'pool') {
    const { id: _, createdAt: __, updatedAt: ___, follows: ____, ...rest } = row as KnownPool
    const { id, createdAt, updatedAt, ...fresh } = freshPool(accountId, DEFAULT_POOL, 0)
    return isSame(Object.entries(rest).sort(), Object.entries(fresh).sort())
  }
  if (kind !== 'workspace' || !(row as WorkspaceRow).isDefault) return false
  const { id: _, createdAt: __, alarmed: ___, ...rest } = row as WorkspaceRow
  const facts = { name: 'Default', slug: 'default', isDefault: true, poolId: rest.poolId }
  const { id, createdAt, alarmed, ...fresh } = freshWorkspace(accountId, 0, facts)
  const isOwn = world.pools.find((one) => one.id === rest.poolId)?.name === DEFAULT_POOL
  return isOwn && isSame(Object.entries(rest).sort(), Object.entries(fresh).sort())
}

interface Planning extends Context {
  readonly setup: string
  readonly wish: PlanWish
  readonly mistakes: Mistake[]
  /** What is to be made, by the texts by which two would be one. */
  readonly made: Map<string, Declared>
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^body\./, ''],
  [/^members\[/, 'upstreams['],
  [/^egress_pool_id/, 'pool'],
  [/\.egress_pool_id$/, ''],
  [/^statistics\.tags/, 'statistics_tags'],
  [/^rate$/, 'replay_rate'],
  [/^workspace_id/, 'workspace'],
  [/^(secret|password)$/, 'secret_file'],
  [/^auth$/, 'auth_file'],
  [/^ses$/, 'ses_out'],
  [/^headers$/, 'header_files'],
  [/^body$/, ''],
]

const mistakesOf = (one: Declared, errors: readonly FieldError[]): readonly Mistake[] =>
  errors.map(({ field: path, kind, message }) => {
    const field = NAMES.reduce((text, [from, to]) => text.replace(from, to), path)
    const first = /^[a-z_]+/.exec(field)?.[0]
    const known = first !== undefined && first in SECTIONS[one.kind].fields
    return {
      where: one.at(known ? first : undefined),
      message: `${refText(one)}: ${field === '' ? '' : `${field}: `}${message}`,
      kind,
    }
  })

const step = (one: ManagedKey, over: Partial<PlanStep> & Pick<PlanStep, 'sign'>): PlanStep => ({
  ...{ kind: one.kind, workspace: one.workspace, name: one.name },
  ...{ why: null, fields: [], objectId: null, run: null, said: [], applied: {}, marks: {}, isNoted: false },
  ...over,
})

const left = (one: ManagedKey, why: string): PlanStep => step(one, { sign: '!', why })

const noteOf = (planning: Planning, one: ManagedKey): ManagedRow | null =>
  planning.world.managed.find((row) => row.setup === planning.setup && isSameKey(row, one)) ?? null

interface Found {
  readonly row: { readonly id: string; readonly createdAt: number } | null
  readonly managed: ManagedRow | null
  /** A setup's own, or to be taken over. */
  readonly isOurs: boolean
  /** Whether a person's changes are to be replaced. */
  readonly isAdopted: boolean
}

/** The row that a name means, and whose it is; a step where it is to be left alone. */
const find = async (planning: Planning, one: Declared): Promise<Found | PlanStep> => {
  const { world, wish, deps } = planning
  const kind = kindOf(one.kind)
  const ref = refText(one)
  const managed = noteOf(planning, one)
  const isAdopted = wish.adopt.includes(ref)
  const rows = kind.rows(world)
  const objectId = managed?.objectId ?? null
  if (managed !== null && objectId !== null) {
    const row = rows.find(({ id }) => id === objectId) ?? null
    if (row !== null || wish.again.includes(ref)) return { row, managed, isOurs: true, isAdopted }
    const who = await lastChange(deps, world.accountId, objectId)
    return left(one, `was removed ${who}; --again ${ref} makes it anew`)
  }
  const row = rows.find((other) => kind.matches(planning, one, other)) ?? null
  if (row === null || one.kind === 'suppressions') return { row, managed, isOurs: true, isAdopted }
  if (kind.isBuiltIn?.(row)) return left(one, 'is built in, and stays as it is')
  const other = world.managed.find(({ objectId: id }) => id === row.id)
  if (other !== undefined)
    return left(
      one,
      `belongs to the setup ${other.setup}${other.setup === planning.setup ? ` as ${refText(other)}` : ''}`,
    )
  const isBegun = managed !== null && row.createdAt >= managed.at
  if (isBegun || isAdopted || isUntouched(world, one.kind, row))
    return { row, managed, isOurs: isBegun, isAdopted: true }
  return left(one, `a person made it; --adopt ${ref} takes it over`)
}

/** What differs is done where it can be, and nothing of it where a person changed it. */
const compare = async (
  planning: Planning,
  one: Declared,
  found: Found & { readonly row: NonNullable<Found['row']> },
  wanted: Wanted,
): Promise<PlanStep> => {
  const { row, managed, isOurs, isAdopted } = found
  const current = kindOf(one.kind).describe(planning, row, managed)
  const fields = differing(wanted.fields, current)
  const { fields: known } = SECTIONS[one.kind]
  const changes = changesOf(fields, current, wanted.fields)
  const fixed = fields.filter((field) => known[field]?.isFixed === true)
  const applied = managed?.applied ?? {}
  const said = Object.keys(wanted.fields)
  const base = { objectId: row.id, marks: marksOf(one, wanted), said, applied }
  if (fixed.length > 0) {
    // keys that are published are turned over one after the other, and never taken away
    const isKeys = fixed.every((field) => field === 'dkim')
    const remedy = isKeys
      ? 'postern domain rotate makes new keys; take dkim out of the file'
      : 'remove it and apply again'
    const why = `${fixed.join(', ')} cannot be changed in place: ${remedy}`
    return step(one, { ...base, sign: '!', why, fields: changes })
  }
  const theirs =
    isAdopted || one.kind === 'suppressions'
      ? []
      : fields.filter((field) => !isSame(applied[field], current[field]))
  if (theirs.length > 0) {
    const who = await lastChange(planning.deps, planning.world.accountId, row.id)
    const why = `${theirs.join(', ')} was changed ${who}; --adopt ${refText(one)} applies the files`
    return step(one, { ...base, sign: '!', why, fields: changes })
  }
  const run = async (deps: SetupDeps): Promise<string> => {
    await wanted.change(deps)
    return row.id
  }
  if (fields.length > 0) return step(one, { ...base, sign: '~', fields: changes, run })
  if (!isOurs) return step(one, { ...base, sign: '~', why: 'taken over as it is', isNoted: true })
  const isStale = said.some((field) => !isSame(applied[field], current[field]))
  return step(one, { ...base, sign: '=', isNoted: isStale || managed?.objectId == null })
}

const planOne = async (planning: Planning, one: Declared): Promise<PlanStep> => {
  const found = await find(planning, one)
  if ('sign' in found) return found
  const { row, managed } = found
  const wanted = await kindOf(one.kind).want(planning, one, row, managed)
  planning.mistakes.push(...mistakesOf(one, wanted.errors))
  if (wanted.errors.length > 0) return left(one, 'is wrong')
  if (row !== null) return compare(planning, one, { ...found, row }, wanted)
  for (const text of wanted.alike ?? []) {
    const other = planning.made.get(text)
    planning.made.set(text, other ?? one)
    if (other === undefined) continue
    const message = `${refText(one)}: would be the same as ${refText(other)} at ${other.at()}`
    planning.mistakes.push({ where: one.at(), message, kind: 'not_unique' })
  }
  const fields = Object.keys(wanted.fields).map((field) => {
    const after = SECTIONS[one.kind].fields[field]?.isSecret ? 'as in its file' : shown(wanted.fields[field])
    return { field, before: undefined, after }
  })
  const marks = marksOf(one, wanted)
  return step(one, { sign: '+', fields, run: wanted.make, marks })
}

/** Why a row of a setup that no file names stays, or null. */
const keptBecause = async (
  { world, deps, wish }: Planning,
  one: ManagedRow,
  row: { readonly id: string },
  declared: readonly Declared[],
): Promise<string | null> => {
  const by = SECTIONS[one.kind].removedBy
  if (by !== null) return `the files name it no more; it stays until: ${by} ${one.name}`
  if (!wish.prune) return 'the files name it no more; --prune removes it'
  if (one.kind !== 'pool') return null
  const { accountId } = world
  const of = { accountId, workspaceId: null, poolId: row.id, domain: null, emailId: null }
  const { waiting, held, underWay } = await deps.store.queueCount(of)
  const many = waiting + held + underWay
  if (many > 0)
    return `${many === 1 ? '1 recipient waits' : `${many} recipients wait`} in it; postern queue reroute moves them`
  const leaving = new Set(
    declared.flatMap(({ kind, name, given }) =>
      kind === 'workspace' && given.pool !== undefined && given.routes !== undefined ? [name] : [],
    ),
  )
  const user = world.workspaces.find(
    ({ slug, poolId, routes }) =>
      !leaving.has(slug) && (poolId === row.id || routes.some((route) => route.poolId === row.id)),
  )
  const isMoved = declared.some(
    ({ kind, name, given }) =>
      kind === 'workspace' && name === user?.slug && given.pool !== undefined && given.pool !== one.name,
  )
  return user === undefined || (isMoved && !user.routes.some((route) => route.poolId === row.id))
    ? null
    : `the workspace ${user.slug} uses it; postern workspace update ${user.slug} --pool`
}

/** What a setup made and no file names any more; the last that was made goes first. */
const planRest = async (planning: Planning, declared: readonly Declared[]) => {
  const { world, setup } = planning
  const rest = world.managed.filter(
    (row) => row.setup === setup && !declared.some((one) => isSameKey(one, row)),
  )
  const order = (row: ManagedRow): number => -KIND_NAMES.indexOf(row.kind)
  const steps: PlanStep[] = []
  const gone: ManagedKey[] = []
  for (const one of rest.sort((a, b) => order(a) - order(b))) {
    const { kind: name, objectId } = one
    const kind = kindOf(name)
    const row = kind.rows(world).find(({ id }) => id === objectId)
    if (row === undefined) {
      gone.push({ kind: name, workspace: one.workspace, name: one.name })
      continue
    }
    const why = await keptBecause(planning, one, row, declared)
    if (why !== null) steps.push(left(one, why))
    else {
      const run = async (deps: SetupDeps): Promise<null> => {
        await kind.remove?.(deps, world.accountId, row)
        return null
      }
      steps.push(step(one, { sign: '-', objectId: row.id, run }))
    }
  }
  return { steps, gone }
}

/** Pools that the files make are there for whoever looks: what names them is right. */
const knowingPools = (deps: SetupDeps, objects: readonly Declared[]): SetupDeps => {
  const planned = new Set(objects.flatMap(({ kind, name }) => (kind === 'pool' ? [name] : [])))
  const pool = async (accountId: string, ref: string) =>
    (await deps.store.pool(accountId, ref)) ??
    (planned.has(ref) ? { ...freshPool(accountId, ref, 0), follows: null } : null)
  return { ...deps, store: Object.assign(Object.create(deps.store), { pool }) }
}

/** Names of options that mean nothing here. */
const strayRefs = (wish: PlanWish, objects: readonly Declared[]): readonly Mistake[] =>
  (['adopt', 'again'] as const).flatMap((option) =>
    wish[option]
      .filter((ref) => !objects.some((one) => refText(one) === ref))
      .map((ref) => ({
        where: `--${option}`,
        message: `${ref} is not in the files; write KIND/NAME, such as pool/eu`,
      })),
  )

/** What applying would do now. Throws SetupError with all that is wrong. */
export const planSetup = async (
  deps: SetupDeps,
  accountId: string,
  { name: setup, objects, mistakes: read }: Setup,
  wish: PlanWish,
): Promise<Plan> => {
  const mistakes: Mistake[] = [...read, ...strayRefs(wish, objects)]
  if (wish.prune && objects.length === 0)
    mistakes.push({ where: 'setup', message: 'it describes nothing, so nothing is removed by --prune' })
  const world = await readWorld(deps, accountId)
  const planned = new Set(objects.flatMap(({ kind, name }) => (kind === 'workspace' ? [name] : [])))
  const planning: Planning = {
    ...{ deps: knowingPools(deps, objects), world, planned, setup, wish, mistakes, made: new Map() },
  }
  const steps: PlanStep[] = []
  const inOrder = [...objects].sort((a, b) => KIND_NAMES.indexOf(a.kind) - KIND_NAMES.indexOf(b.kind))
  for (const one of inOrder) if (!one.isWrong) steps.push(await planOne(planning, one))
  if (mistakes.length > 0) throw new SetupError(mistakes)
  const rest = await planRest(planning, objects)
  const all = [...steps, ...rest.steps]
  const said = all.map(({ sign, kind, workspace, name, why, fields, objectId }) => [
    ...[sign, kind, workspace, name, why, fields, objectId],
  ])
  const digest = createHash('sha256').update(JSON.stringify(said)).digest('hex')
  return { setup, steps: all, gone: wish.prune ? rest.gone : [], digest }
}

/** Whether it would do anything. */
export const isToDo = ({ run, sign, isNoted }: PlanStep): boolean => run !== null || (isNoted && sign === '~')

/** As documents have it. */
const stepRecord = ({ sign, kind, workspace, name, why, fields, objectId }: PlanStep) => ({
  action: { '+': 'create', '~': 'change', '-': 'remove', '!': 'leave', '=': 'same' }[sign],
  kind,
  ...(workspace !== '' && { workspace }),
  name,
  ...(objectId !== null && { id: objectId }),
  ...(why !== null && { why }),
  ...(fields.length > 0 && {
    fields: fields.map(({ field, before, after }) => ({
      ...{ field, ...(before !== undefined && { before }), after },
    })),
  }),
})

export const countOf = ({ steps }: Plan, sign: Sign): number =>
  steps.filter((one) => one.sign === sign).length

export const planRecord = (plan: Plan, applied: boolean) => ({
  object: 'setup_plan' as const,
  setup: plan.setup,
  applied,
  steps: plan.steps.filter(({ sign }) => sign !== '=').map(stepRecord),
  same: countOf(plan, '='),
})
