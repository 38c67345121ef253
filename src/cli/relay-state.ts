/**
 * NAME      relay-state - what the running daemon's relay knows now
 *   Asked of the management listener: how each upstream is doing, and what slows
 *   mail down. Without a daemon there is no answer, and the store alone must tell.
 */
import type { throttle } from '../record/queue.js'
import type { RelayView } from '../tenant/pool.js'
import type { CliContext } from './context.js'
import { managementOf, reachable } from './listening.js'

/** What the daemon knows of an upstream now. */
export interface LiveUpstream {
  readonly breaker: string | null
  readonly connections: number | null
  readonly under_way: number | null
  readonly limit: number | null
  readonly full: 'warmup' | 'rate' | 'connections' | null
  readonly last_success_at: string | null
  readonly last_error: { readonly at: string; readonly stage: string; readonly message: string } | null
}

export interface RelayState {
  readonly data: readonly (LiveUpstream & { readonly id: string })[]
  readonly throttled: readonly ReturnType<typeof throttle>[]
  readonly captures: boolean
}

/** What a command says that has only the store to ask. */
export const NO_DAEMON = 'no daemon answers; start it: postern serve, or systemctl start postern'

const LIVE_MS = 2_000

/** What the management listener says; null when no daemon answers. */
const asked = async (
  { config }: Pick<CliContext, 'config'>,
  method: 'GET' | 'POST',
  path: string,
  given?: string,
): Promise<unknown> => {
  try {
    const at = await managementOf(config)
    const base = given ?? (at && `http://${reachable(at.host)}:${at.port}`)
    if (base === null) return null
    // fetch of Node takes longer to load than this takes to ask
    const { openCall, readAnswer } = await import('./api.js')
    const call = { method, path, key: null, signal: AbortSignal.timeout(LIVE_MS) }
    return await readAnswer(base, await openCall(new URL(path, base), call, null))
  } catch {
    return null
  }
}

/** Null when no daemon answers. `given` is another URL than the configured one. */
export const relayState = async (
  context: Pick<CliContext, 'config'>,
  given?: string,
): Promise<RelayState | null> => (await asked(context, 'GET', '/upstreams', given)) as RelayState | null

/** Upstreams that are avoided because they failed are tried now; without a daemon there is nobody to do so. */
export const wakeRelay = async (context: Pick<CliContext, 'config'>): Promise<void> => {
  await asked(context, 'POST', '/wake')
}

/** What failed of the setup that the running daemon was to apply, a line for each mistake; null where nothing did. */
export const setupFailed = async (context: Pick<CliContext, 'config'>): Promise<readonly string[] | null> => {
  const status = (await asked(context, 'GET', '/status')) as {
    readonly setup_failed?: readonly string[]
  } | null
  return status?.setup_failed ?? null
}

const instant = (text: string | null): number | null => (text === null ? null : Date.parse(text))

/** As the judges of why mail waits want it. */
export const relayView = async (context: Pick<CliContext, 'config'>): Promise<RelayView | null> => {
  const state = await relayState(context)
  return (
    state && {
      upstreams: new Map(
        state.data.map((one) => [
          one.id,
          {
            ...one,
            lastSuccessAt: instant(one.last_success_at),
            lastError: one.last_error && { ...one.last_error, at: Date.parse(one.last_error.at) },
          },
        ]),
      ),
      throttled: state.throttled.map(({ egress_pool_id: poolId, domain, until }) => ({
        poolId,
        domain,
        until: until === null ? 0 : Date.parse(until),
      })),
      captures: state.captures,
    }
  )
}
