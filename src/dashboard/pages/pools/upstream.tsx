/**
 * NAME      upstream - one upstream mail server of a pool: in words, its fields, and how a trial of it went
 *   A password goes in and never comes out: an empty login keeps the one that there is.
 */
import type { poolRecord, warmupRecord } from '../../../resource/tenants.js'
import type { Form } from '../../form.js'
import { Check, Choice, Field, FoldedFields } from '../../parts/form.js'
import { Reply, Section } from '../../parts/page-parts.js'
import { State, type Tone } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Address, Time } from '../../parts/text.js'

export type PoolMember = Pool['members'][number]

export type Pool = ReturnType<typeof poolRecord>

export interface Health {
  readonly id: string
  readonly status: 'ok' | 'degraded' | 'down'
  readonly says: string
  readonly queue: Readonly<Record<'due' | 'leased' | 'waiting' | 'held', number>>
  readonly members: readonly ShownUpstream[]
}

export interface ShownUpstream {
  readonly id: string
  readonly host: string
  readonly port: number
  readonly state: 'active' | 'paused' | 'draining'
  readonly breaker: 'closed' | 'open' | 'half-open' | null
  readonly connections: number | null
  readonly under_way: number | null
  readonly limit: number | null
  readonly full: 'warmup' | 'rate' | 'connections' | null
  readonly warmup: ReturnType<typeof warmupRecord> | null
  readonly last_success_at: string | null
  readonly last_error: { readonly at: string; readonly stage: string; readonly message: string } | null
}

const TLS_WORDS: Readonly<Record<string, string>> = {
  none: 'in clear',
  opportunistic: 'TLS where offered, unchecked',
  required: 'STARTTLS, certificate unchecked',
  verify: 'STARTTLS, certificate checked',
  implicit: 'TLS from the first byte, checked',
}

const SERVICES = {
  ses: {
    title: 'Amazon SES by HTTPS',
    reports: 'tells of bounces where the return path of the pool is one for all',
  },
  mailgun: { title: 'Mailgun by HTTPS', reports: 'tells nobody here of bounces: its mail stays “sent”' },
} as const

export const addressOf = ({ service, host, port }: Pick<PoolMember, 'service' | 'host' | 'port'>): string => {
  if (service !== null) return `${service}+https://${host}`
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

const kindOf = ({ service, region, fingerprint, tls }: PoolMember): string => {
  const pinned = fingerprint === null ? null : 'TLS, certificate pinned'
  if (service === null) return pinned ?? TLS_WORDS[tls] ?? tls
  const { title, reports } = SERVICES[service]
  return [title, region, pinned, reports].filter((part) => part !== null).join(' · ')
}

/** `50:14`, as in the URL of an upstream. */
const planOf = ({ first, days }: { readonly first: number; readonly days: number }): string =>
  `${first}:${days}`

/** The second line of its row: what it is, not how it does. */
export const aboutOf = (row: PoolMember): string =>
  [
    kindOf(row),
    row.has_auth && row.service === null ? `signs in${row.has_oauth ? ' with tokens' : ''}` : null,
    row.auth_mechanism === null ? null : `by ${row.auth_mechanism} only`,
    row.priority > 0 ? `priority ${row.priority}` : null,
    row.weight > 1 ? `weight ${row.weight}` : null,
    row.rate === null ? null : `at most ${row.rate} mails/s`,
    row.bind === null ? null : `from ${row.bind.join(', ')}`,
    row.helo === null ? null : `as ${row.helo}`,
    row.warmup === null ? null : `warm-up ${planOf(row.warmup)}`,
  ]
    .filter((part) => part !== null)
    .join(' · ')

type Words = readonly [tone: Tone, icon: string, text: string, more: string | null]

const FULL = {
  warmup: 'was given what its warm-up allows today',
  rate: 'the mails of this second are used up',
  connections: 'all its connections are in use',
} as const

const stateOf = (live: ShownUpstream | undefined): Words => {
  if (live?.state === 'paused') return ['wait', 'held', 'Paused', 'gets no new mail']
  if (live?.state === 'draining') return ['wait', 'held', 'Draining', 'ends what is under way']
  if (live === undefined || live.breaker === null)
    return ['', 'queued', 'Not known yet', 'the relay has not told of it']
  if (live.breaker === 'open') return ['bad', 'bounced', 'Fails', 'rests, and is tried again by itself']
  if (live.breaker === 'half-open') return ['wait', 'deferred', 'Tried again', 'after it had failed']
  // both are times as /v1 writes them
  if (live.last_error !== null && live.last_error.at > (live.last_success_at ?? ''))
    return ['wait', 'deferred', 'Failed last', 'and has taken no mail since']
  return ['ok', 'delivered', 'Takes mail', live.full && FULL[live.full]]
}

export const UpstreamState = ({ live, most }: { live: ShownUpstream | undefined; most: number }) => {
  const [tone, icon, text, more] = stateOf(live)
  const limit = live?.limit ?? null
  const ramps = tone === 'ok' && limit !== null && limit < most
  return (
    <>
      <State {...{ tone, icon }}>{text}</State>
      {ramps ? (
        <span class="sub">
          ramps up: {limit} of {most} at once
        </span>
      ) : null}
      {more === null ? null : <span class="sub">{more}</span>}
    </>
  )
}

export const LastError = ({ live }: { readonly live: ShownUpstream | undefined }) => {
  const error = live?.last_error ?? null
  if (error === null) return <span class="faint">none</span>
  return (
    <>
      <Time at={error.at} />
      <Reply text={`${error.stage}: ${error.message}`} clamp />
    </>
  )
}

const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2', 'OAUTHBEARER']

const TokenFields = ({ member }: { readonly member: PoolMember | null }) => (
  <FoldedFields title="Tokens in place of a password (Microsoft 365, Gmail)">
    <p class="hint">
      {member?.has_oauth
        ? 'It signs in with tokens. Empty fields keep them; a password ends them.'
        : 'Asked for at an OAuth 2.0 token endpoint, for the user above.'}
    </p>
    <div class="row">
      <Field name="token_url" label="Token endpoint" placeholder="https://" />
      <Field name="client_id" label="Client id" autocomplete="off" />
      <Field name="scope" label="Scope" />
    </div>
    <div class="row">
      <Field name="client_secret" label="Client secret" type="password" autocomplete="new-password" />
      <Field name="refresh_token" label="Refresh token" type="password" autocomplete="new-password" />
    </div>
    <Choice
      name="auth_mechanism"
      label="Sign in by"
      options={[['', 'what is offered and fits'], ...MECHANISMS.map((one) => [one, one] as const)]}
    />
  </FoldedFields>
)

const WarmupField = ({ member }: { readonly member: PoolMember | null }) => (
  <Field
    name="warmup"
    label="Warm-up"
    value={member?.warmup == null ? null : planOf(member.warmup)}
    placeholder="50:14"
    hint="Recipients of its first day, and days; each day twice as many as the one before. Empty: no limit. Empty once and set again, it begins anew."
  />
)

const LimitFields = ({ member }: { readonly member: PoolMember | null }) => (
  <FoldedFields title="Share, limits, certificate and origin">
    <div class="row">
      <Field name="weight" label="Weight" placeholder="1" />
      <Field name="priority" label="Priority" placeholder="0" />
    </div>
    <p class="hint">The lowest priority that takes mail is used; weight shares it out within.</p>
    <div class="row">
      <Field name="max_connections" label="Connections, at most" placeholder="10" />
      <Field name="messages_per_connection" label="Mails per connection" placeholder="100" />
      <Field name="rate" label="Mails per second" placeholder="any" />
    </div>
    <Field
      name="fingerprint"
      label="Pinned certificate (SHA-256)"
      hint="In hex. It takes the place of chain and name."
    />
    <div class="row">
      <Field
        name="bind"
        label="Connect from"
        value={member?.bind?.join(' ')}
        hint="Addresses of this machine, with blanks between them. Empty: as the system chooses."
      />
      <Field name="helo" label="Name in EHLO" hint="Empty: the host name of the settings." />
    </div>
    <WarmupField member={member} />
  </FoldedFields>
)

const ServiceFields = () => (
  <>
    <div class="row">
      <Choice
        name="service"
        label="What it is"
        options={[
          ['', 'mail server, by SMTP'],
          ...Object.entries(SERVICES).map(([value, { title }]) => [value, title] as const),
        ]}
      />
      <Choice
        name="region"
        label="Region, of Mailgun"
        options={[
          ['', 'us'],
          ['eu', 'eu'],
        ]}
      />
    </div>
    <p class="hint">
      Of Amazon SES the host is a region, such as eu-west-1, the user the id of an access key and the password
      its secret; of Mailgun the host is a sending domain, the user api and the password the key. Port and TLS
      stay empty.
    </p>
  </>
)

export const MemberFields = ({ member }: { readonly member: PoolMember | null }) => (
  <>
    <ServiceFields />
    <div class="row">
      <Field name="host" label="Host" required placeholder="mta1.example.net" />
      <Field name="port" label="Port" placeholder="25" />
      <Choice
        name="tls"
        label="TLS"
        options={[
          ['', 'as fits: required with a login'],
          ...Object.entries(TLS_WORDS).map(([value, words]) => [value, `${value}: ${words}`] as const),
        ]}
      />
    </div>
    <div class="row">
      <Field
        name="user"
        label="User"
        autocomplete="off"
        hint={member?.has_auth ? 'Empty keeps the login that there is.' : 'Empty: it needs no login.'}
      />
      <Field
        name="pass"
        label="Password"
        type="password"
        autocomplete="new-password"
        hint="Sealed before it is stored, and shown to nobody."
      />
    </div>
    {member?.has_auth ? <Check name="no_auth" label="Sign in no more" /> : null}
    <TokenFields member={member} />
    <LimitFields member={member} />
  </>
)

const TOKENS = ['token_url', 'client_id', 'client_secret', 'refresh_token', 'scope'] as const

const authOf = (form: Form) => {
  const user = form.text('user')
  if (form.has('no_auth')) return { auth: null }
  const given = TOKENS.flatMap((name) => (form.text(name) === null ? [] : [[name, form.text(name)] as const]))
  if (user === null && given.length === 0) return {}
  const pass = form.raw('pass')
  return {
    auth: {
      ...(user !== null && { user }),
      ...(pass !== '' && { pass }),
      ...(given.length > 0 && { oauth: Object.fromEntries(given) }),
    },
  }
}

/** What is no number is refused as what it is. */
const warmupOf = (text: string | null) => {
  if (text === null) return null
  const [first = '', days = ''] = text.split(':')
  return { first: numberIn(first), days: numberIn(days) }
}

const numberIn = (text: string): number | string => (/^\s*\d+\s*$/.test(text) ? Number(text) : text)

export const memberOf = (form: Form) => ({
  service: form.text('service'),
  region: form.text('region'),
  host: form.text('host'),
  port: form.number('port'),
  tls: form.text('tls'),
  ...authOf(form),
  auth_mechanism: form.text('auth_mechanism'),
  weight: form.number('weight'),
  priority: form.number('priority'),
  max_connections: form.number('max_connections'),
  messages_per_connection: form.number('messages_per_connection'),
  rate: form.number('rate'),
  fingerprint: form.text('fingerprint'),
  bind: form.text('bind')?.split(/[\s,]+/) ?? null,
  helo: form.text('helo'),
  warmup: warmupOf(form.text('warmup')),
})

/** What names a member and changes nothing of it. */
export const kept = ({ id, host, port, state }: Pool['members'][number]) => ({ id, host, port, state })

export interface TrialRecord {
  readonly id: string
  readonly service: PoolMember['service']
  readonly host: string
  readonly port: number
  readonly ok: boolean
  readonly stage: string | null
  readonly said: string
  readonly tls: string | null
  readonly dsn: boolean
  readonly offers: readonly string[]
  readonly auth_offered: readonly string[]
  readonly auth_mechanism: string | null
  readonly ms: number
}

const STAGES: Readonly<Record<string, string>> = {
  connect: 'It could not be reached.',
  greeting: 'It was reached, and did not greet as a mail server does.',
  tls: 'TLS could not be agreed on.',
  auth: 'It refused the login.',
}

export const Trials = ({ trials }: { readonly trials: readonly TrialRecord[] }) => (
  <Section
    title={
      trials.every(({ ok }) => ok)
        ? trials.length === 1
          ? 'The test went well'
          : 'All tests went well'
        : 'A test failed'
    }
    says="connected as the relay does, greeted, agreed on TLS, signed in; no mail was sent"
    id="trials"
  >
    <Table
      caption="What was tried just now"
      rows={trials}
      columns={[
        { head: 'Upstream', cell: (row) => <Address text={addressOf(row)} /> },
        {
          head: 'Result',
          cell: ({ ok }) => <State tone={ok ? 'ok' : 'bad'}>{ok ? 'Works' : 'Fails'}</State>,
        },
        {
          head: 'What it said',
          kind: 'grow',
          cell: ({ ok, stage, said }) => (
            <>
              {ok ? null : <span class="say">{STAGES[stage ?? ''] ?? stage}</span>}
              <Reply text={said} />
            </>
          ),
        },
        {
          head: 'Delivery reports',
          cell: ({ ok, dsn }) =>
            !ok ? '' : dsn ? 'offered (DSN)' : 'not offered: nobody tells when a mail arrived',
        },
        { head: 'Offers', kind: 'opt', cell: ({ offers }) => <code>{offers.join(' ')}</code> },
        {
          head: 'Login',
          kind: 'opt',
          cell: ({ auth_offered, auth_mechanism }) =>
            auth_offered.length === 0 ? '' : `${auth_mechanism ?? 'none'} of ${auth_offered.join(', ')}`,
        },
        { head: 'Took', kind: 'num', cell: ({ ms }) => `${ms} ms` },
      ]}
    />
  </Section>
)
