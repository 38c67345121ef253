/**
 * NAME      world - what there is, as a plan sees it
 */
import type { Dialler } from '../base/dial.js'
import { collect } from '../lifecycle/page.js'
import type { KnownEndpoint } from '../store/port/hooks.js'
import type { Audit, Identity, UserRow } from '../store/port/identity.js'
import type { Operations } from '../store/port/operations.js'
import type { Acted } from '../store/port/store.js'
import type {
  CredentialRow,
  DomainRow,
  Domains,
  KeyRow,
  KnownPool,
  ManagedKey,
  ManagedRow,
  Setups,
  Tenants,
  WorkspaceRow,
} from '../store/port/tenants.js'
import type { Lifecycle } from '../store/port/upkeep.js'
import type { Incidents } from '../store/port/watch.js'
import type { TenantDeps } from '../tenant/principal.js'
import type { HookDeps } from '../webhook/endpoints.js'

type SetupStore = Acted<
  Tenants &
    Identity &
    Incidents &
    Audit &
    Domains &
    Setups &
    Operations &
    HookDeps['store'] &
    Pick<Lifecycle, 'known'>
>

export interface SetupDeps extends TenantDeps {
  readonly store: SetupStore
  readonly dialler: Dialler
  /** New secrets are written below it. */
  readonly dataDir: string
  /** Hears of a new secret that is written to no file. */
  readonly told?: (ref: string, secret: string) => void
}

export interface World {
  readonly accountId: string
  readonly pools: readonly KnownPool[]
  readonly workspaces: readonly WorkspaceRow[]
  readonly domains: readonly DomainRow[]
  readonly keys: readonly KeyRow[]
  readonly credentials: readonly CredentialRow[]
  readonly webhooks: readonly KnownEndpoint[]
  readonly people: readonly UserRow[]
  /** Of every setup. */
  readonly managed: readonly ManagedRow[]
}

export const readWorld = async ({ store }: Pick<SetupDeps, 'store'>, accountId: string): Promise<World> => ({
  accountId,
  pools: await collect((page) => store.pools(accountId, page)),
  workspaces: await collect((page) => store.workspaces(accountId, page)),
  domains: await collect((page) => store.domains(accountId, page)),
  keys: await collect((page) => store.keys(accountId, page)),
  credentials: await collect((page) => store.credentials(accountId, page)),
  webhooks: await collect((page) => store.endpoints({ accountId, workspaceId: null, mode: null }, page)),
  people: await collect((page) => store.users(accountId, page)),
  managed: await store.managed(accountId),
})

export const isSameKey = (a: ManagedKey, b: ManagedKey): boolean =>
  a.kind === b.kind && a.workspace === b.workspace && a.name === b.name

/** The workspace that a file names: by its slug, or one that a setup made under it and that has another by now. */
export const workspaceNamed = (world: World, name: string): WorkspaceRow | null => {
  const made = world.managed.find(({ kind, name: known }) => kind === 'workspace' && known === name)
  return (
    world.workspaces.find(({ slug }) => slug === name) ??
    world.workspaces.find(({ id }) => id === made?.objectId) ??
    null
  )
}

export const slugOf = (world: World, id: string | null): string =>
  id === null ? '' : (world.workspaces.find((row) => row.id === id)?.slug ?? id)

export const poolName = (world: World, id: string): string =>
  world.pools.find((row) => row.id === id)?.name ?? id
