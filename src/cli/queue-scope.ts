/**
 * NAME      queue-scope - which part of the queue a command means
 */
import { toRfc3339 } from '../base/clock.js'
import type { HoldRow, QueueScope } from '../store/port-operations.js'
import { type QueueGround, queueScope } from '../tenant/queue/orders.js'
import type { House } from './context.js'
import { usage } from './exit.js'
import { collect } from './rows.js'

export const SCOPE = {
  workspace: { type: 'string', describe: 'Mail of this workspace, by id or slug' },
  pool: { type: 'string', describe: 'Mail in this egress pool, by name or id' },
  domain: { type: 'string', describe: 'Mail to recipients of this domain' },
  email: { type: 'string', describe: 'One mail, by id' },
  upstream: { type: 'string', hidden: true },
  all: { type: 'boolean', describe: 'The whole queue' },
} as const

interface ScopeArgs {
  readonly workspace: string | undefined
  readonly pool: string | undefined
  readonly domain: string | undefined
  readonly email: string | undefined
  readonly upstream: string | undefined
  readonly all: boolean | undefined
}

const PARTS = ['workspace', 'pool', 'domain', 'email'] as const

/** Mail belongs to no upstream before it is sent, so an upstream is paused and not held. */
const refuseUpstream = (verb: string, upstream: string): never => {
  const instead = verb === 'hold' ? 'pause' : verb === 'release' ? 'resume' : null
  throw usage(
    instead === null
      ? `mail waits in a pool, not at an upstream: postern queue ${verb} --pool POOL`
      : `mail waits in a pool, not at an upstream: postern upstream ${instead} ${upstream}`,
  )
}

/** The scope that was named; changing verbs want one named, or --all. */
export const scopeFor = (
  house: House,
  verb: string,
  args: ScopeArgs,
  optional = false,
): Promise<QueueScope> => {
  if (args.upstream !== undefined) refuseUpstream(verb, args.upstream)
  const named = PARTS.some((part) => args[part] !== undefined)
  if (named && args.all) throw usage('--all and a part of the queue do not go together')
  if (!named && !args.all && !optional)
    throw usage(`queue ${verb} needs --workspace, --pool, --domain, --email or --all`)
  return queueScope(queueGround(house), house.account.id, args)
}

export const queueGround = ({ store, ground }: House): QueueGround => ({ store, clock: ground.clock })

export const namesOf = async ({ store, account }: House): Promise<ReadonlyMap<string, string>> => {
  const pools = await collect((page) => store.pools(account.id, page))
  const workspaces = await collect((page) => store.workspaces(account.id, page))
  return new Map([
    ...pools.map((row) => [row.id, row.name] as const),
    ...workspaces.map((row) => [row.id, row.slug] as const),
  ])
}

/** `workspace shop, domain example.com`. */
export const scopeText = (scope: QueueScope, names: ReadonlyMap<string, string>): string => {
  const parts = [
    scope.workspaceId && `workspace ${names.get(scope.workspaceId) ?? scope.workspaceId}`,
    scope.poolId && `pool ${names.get(scope.poolId) ?? scope.poolId}`,
    scope.domain && `domain ${scope.domain}`,
    scope.emailId,
  ].filter((part) => part)
  return parts.length === 0 ? 'the whole queue' : parts.join(', ')
}

export const scopeRecord = (scope: QueueScope) => ({
  workspace_id: scope.workspaceId,
  egress_pool_id: scope.poolId,
  domain: scope.domain,
  email_id: scope.emailId,
})

export const holdRecord = (row: HoldRow) => ({
  id: row.id,
  object: 'hold' as const,
  ...scopeRecord(row),
  reason: row.reason,
  created_at: toRfc3339(row.createdAt),
})
