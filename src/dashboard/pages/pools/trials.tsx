/**
 * NAME      trials - what upstreams offered when they were tried
 */
import { Reply, Section } from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { addressOf } from './upstream.js'

export interface Trial {
  readonly id: string
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

export const Trials = ({ trials }: { readonly trials: readonly Trial[] }) => (
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
        { head: 'Upstream', cell: addressOf },
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
