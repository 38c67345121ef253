/**
 * NAME      upstream - one upstream mail server of a pool, in words
 */
import { Reply } from '../../parts/page-parts.js'
import { State, type Tone } from '../../parts/status.js'
import { Time } from '../../parts/time.js'

export interface Member {
  readonly id: string
  readonly host: string
  readonly port: number
  readonly tls: string
  readonly state: 'active' | 'paused' | 'draining'
  readonly fingerprint: string | null
  readonly has_auth: boolean
  readonly has_oauth: boolean
  readonly auth_mechanism: string | null
  readonly weight: number
  readonly priority: number
  readonly max_connections: number
  readonly messages_per_connection: number
  readonly rate: number | null
}

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
  readonly says: string
  readonly queue: Readonly<Record<'due' | 'leased' | 'waiting' | 'held', number>>
  readonly members: readonly Live[]
}

/** What the relay last saw of it. */
export interface Live {
  readonly id: string
  readonly host: string
  readonly port: number
  readonly state: 'active' | 'paused' | 'draining'
  readonly breaker: 'closed' | 'open' | 'half-open' | null
  readonly connections: number | null
  readonly under_way: number | null
  readonly limit: number | null
  readonly full: 'rate' | 'connections' | null
  readonly last_success_at: string | null
  readonly last_error: { readonly at: string; readonly stage: string; readonly message: string } | null
}

export const TLS_WORDS: Readonly<Record<string, string>> = {
  none: 'in clear',
  opportunistic: 'TLS where offered, unchecked',
  required: 'STARTTLS, certificate unchecked',
  verify: 'STARTTLS, certificate checked',
  implicit: 'TLS from the first byte, checked',
}

export const addressOf = ({ host, port }: Pick<Member, 'host' | 'port'>): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** The second line of its row: what it is, not how it does. */
export const aboutOf = (row: Member): string =>
  [
    row.fingerprint === null ? TLS_WORDS[row.tls] : 'TLS, certificate pinned',
    row.has_auth ? `signs in${row.has_oauth ? ' with tokens' : ''}` : null,
    row.auth_mechanism === null ? null : `by ${row.auth_mechanism} only`,
    row.priority > 0 ? `priority ${row.priority}` : null,
    row.weight > 1 ? `weight ${row.weight}` : null,
    row.rate === null ? null : `at most ${row.rate} mails/s`,
  ]
    .filter((part) => part !== null)
    .join(' · ')

interface Words {
  readonly tone: Tone
  readonly icon: string
  readonly text: string
  readonly more: string | null
}

const FULL = {
  rate: 'the mails of this second are used up',
  connections: 'all its connections are in use',
} as const

const stateOf = (live: Live | undefined): Words => {
  if (live?.state === 'paused')
    return { tone: 'wait', icon: 'held', text: 'Paused', more: 'gets no new mail' }
  if (live?.state === 'draining')
    return { tone: 'wait', icon: 'held', text: 'Draining', more: 'ends what is under way' }
  if (live === undefined || live.breaker === null)
    return { tone: '', icon: 'queued', text: 'Not known yet', more: 'the relay has not told of it' }
  if (live.breaker === 'open')
    return { tone: 'bad', icon: 'bounced', text: 'Fails', more: 'rests, and is tried again by itself' }
  if (live.breaker === 'half-open')
    return { tone: 'wait', icon: 'deferred', text: 'Tried again', more: 'after it had failed' }
  // both are times as /v1 writes them
  if (live.last_error !== null && live.last_error.at > (live.last_success_at ?? ''))
    return { tone: 'wait', icon: 'deferred', text: 'Failed last', more: 'and has taken no mail since' }
  return { tone: 'ok', icon: 'delivered', text: 'Takes mail', more: live.full && FULL[live.full] }
}

export const UpstreamState = ({ live, most }: { readonly live: Live | undefined; readonly most: number }) => {
  const { tone, icon, text, more } = stateOf(live)
  const limit = live?.limit ?? null
  const ramps = tone === 'ok' && limit !== null && limit < most
  return (
    <>
      <State {...{ tone, icon }}>{text}</State>
      {ramps ? (
        <span class="sub">
          warms up: {limit} of {most} at once
        </span>
      ) : null}
      {more === null ? null : <span class="sub">{more}</span>}
    </>
  )
}

export const LastError = ({ live }: { readonly live: Live | undefined }) => {
  const error = live?.last_error ?? null
  if (error === null) return <span class="faint">none</span>
  return (
    <>
      <Time at={error.at} />
      <Reply text={`${error.stage}: ${error.message}`} clamp />
    </>
  )
}
