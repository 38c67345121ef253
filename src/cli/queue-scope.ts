/**
 * NAME      queue-scope - which part of the queue a command means
 */
import { collect } from '../lifecycle/page.js'
import type { QueueScope } from '../store/port/operations.js'
import { type QueueDeps, queueScope, SCOPE_PARTS, SCOPE_WORDS, type ScopePart } from '../tenant/orders.js'
import type { CliContext } from './context.js'
import { usage } from './exit.js'

const flag = (part: ScopePart) => ({ type: 'string', describe: SCOPE_PARTS[part].says }) as const

export const SCOPE = {
  workspace: flag('workspace'),
  pool: flag('pool'),
  domain: flag('domain'),
  email: flag('email'),
  upstream: { type: 'string', hidden: true },
  all: { type: 'boolean', describe: 'The whole queue' },
} as const

type ScopeArgs = { readonly [part in ScopePart | 'upstream']: string | undefined } & {
  readonly all: boolean | undefined
}

/** Mail belongs to no upstream before it is sent, so an upstream is paused and not held. */
const refuseUpstream = (verb: string, upstream: string): never => {
  const instead = verb === 'hold' ? 'pause' : verb === 'release' ? 'resume' : null
  throw usage(
    instead === null
      ? `mail waits in a pool, not at an upstream: postern queue ${verb} --pool POOL`
      : `mail waits in a pool, not at an upstream: postern upstream ${instead} ${upstream}`,
  )
}

/** Whether a part of the queue was named, or all of it. */
export const isNamed = (args: ScopeArgs): boolean =>
  args.all === true || SCOPE_WORDS.some((part) => args[part] !== undefined)

/** The scope that was named; changing verbs want one named, or --all. */
export const scopeFor = (
  context: CliContext,
  verb: string,
  args: ScopeArgs,
  optional = false,
): Promise<QueueScope> => {
  if (args.upstream !== undefined) refuseUpstream(verb, args.upstream)
  const named = SCOPE_WORDS.some((part) => args[part] !== undefined)
  if (named && args.all) throw usage('--all and a part of the queue do not go together')
  if (!isNamed(args) && !optional)
    throw usage(`queue ${verb} needs --workspace, --pool, --domain, --email or --all`)
  const operator = { accountId: context.account.id, workspaceId: null, mode: null, isWorkspace: false }
  return queueScope(queueDeps(context), operator, args)
}

export const queueDeps = ({ store, deps }: CliContext): QueueDeps => ({ store, clock: deps.clock })

export const namesOf = async ({ store, account }: CliContext): Promise<ReadonlyMap<string, string>> => {
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
