/**
 * NAME      state - how a pool is doing, as a sentence
 */
import { addressOf, type Live, type Member } from './upstream.js'

export interface Pool {
  readonly id: string
  readonly name: string
  readonly kind: 'relay' | 'sandbox'
  readonly return_path: 'verp' | 'fixed'
  readonly notify_success: boolean
  readonly relayed_means: 'delivered' | 'sent'
  readonly follows: string | null
  readonly members: readonly Member[]
  readonly updated_at: string
}

export interface Health {
  readonly id: string
  readonly status: 'ok' | 'degraded' | 'down'
  readonly queue: {
    readonly due: number
    readonly leased: number
    readonly waiting: number
    readonly oldest_due_at: string | null
  }
  readonly members: readonly Live[]
}

const takes = ({ state, breaker }: Live): boolean => state === 'active' && breaker !== 'open'

const badWords = (live: Live): string => {
  const name = addressOf(live)
  if (live.state !== 'active') return `${name} is ${live.state}.`
  const error = live.last_error
  return error === null ? `${name} fails.` : `${name} fails at ${error.stage}: ${error.message}`
}

/** One or two sentences; the names of other pools are those of `nameOf`. */
export const poolSentence = (
  pool: Pool,
  health: Health | null,
  nameOf: (id: string) => string,
): { readonly tone: 'ok' | 'wait' | 'bad'; readonly text: string } => {
  if (pool.kind === 'sandbox')
    return { tone: 'ok', text: 'Built in: test mail ends here, and nobody gets it.' }
  const members = health?.members ?? []
  const whose = pool.follows === null ? '' : `Uses the upstreams of ${nameOf(pool.follows)}. `
  if (members.length === 0)
    return { tone: 'bad', text: `${whose}No upstream: its mail waits until there is one.` }
  const good = members.filter(takes).length
  const [bad] = members.filter((one) => !takes(one))
  if (bad === undefined)
    return {
      tone: 'ok',
      text: `${whose}${good === 1 ? 'Its upstream takes mail.' : `All ${good} upstreams take mail.`}`,
    }
  const words = badWords(bad)
  return good === 0
    ? { tone: 'bad', text: `${whose}No upstream takes mail. ${words}` }
    : { tone: 'wait', text: `${whose}${good} of ${members.length} upstreams take mail. ${words}` }
}
