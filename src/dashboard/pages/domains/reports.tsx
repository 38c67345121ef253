/**
 * NAME      reports - what receivers reported of a domain, on its page
 * DESCRIPTION
 *   All of it is what somebody says who need not be who he says, and the page says so.
 */
import type { reportSummaryRecord } from '../../../resource/domain.js'
import { Facts, Note, Reply, Section } from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { type Column, Table } from '../../parts/table.js'
import { figure } from '../../parts/text.js'

export type Summary = ReturnType<typeof reportSummaryRecord>
type Source = Summary['sources'][number]

const ORIGINS = {
  ours: ['ok', 'Yours'],
  signed: ['ok', 'Signed by you'],
  unknown: ['', 'Unknown'],
} as const

const share = (part: number, of: number): string =>
  of === 0 ? figure(part) : `${figure(part)} (${((part * 100) / of).toFixed(1)} %)`

const SOURCES: readonly Column<Source>[] = [
  {
    head: 'Source',
    kind: 'grow',
    cell: ({ address }) => (address === null ? 'All others' : <code>{address}</code>),
  },
  {
    head: 'Whose',
    kind: 'fit',
    cell: ({ origin }) => {
      const [tone, text] = ORIGINS[origin]
      return <State tone={tone}>{text}</State>
    },
  },
  { head: 'Mails', kind: 'num', cell: ({ messages }) => figure(messages) },
  { head: 'Passed DKIM', kind: 'num', cell: ({ dkim }) => figure(dkim) },
  { head: 'Passed SPF', kind: 'num', cell: ({ spf }) => figure(spf) },
  { head: 'Failed', kind: 'num', cell: ({ failed, messages }) => share(failed, messages) },
]

const REPORTERS: readonly Column<Summary['reporters'][number]>[] = [
  { head: 'As reported by', kind: 'grow', cell: ({ reporter }) => <Reply text={reporter} /> },
  { head: 'About', kind: 'fit', cell: ({ kind }) => (kind === 'dmarc' ? 'mail' : 'TLS') },
  { head: 'Reports', kind: 'num', cell: ({ reports }) => figure(reports) },
  { head: 'Mails or sessions', kind: 'num', cell: ({ total }) => figure(total) },
  { head: 'Failed', kind: 'num', cell: ({ failed, total }) => share(failed, total) },
]

const FAILURES: readonly Column<Summary['tls']['failures'][number]>[] = [
  { head: 'What failed', kind: 'grow', cell: ({ type }) => <Reply text={type} /> },
  { head: 'At', kind: 'name', cell: ({ mx }) => mx ?? '' },
  { head: 'Sessions', kind: 'num', cell: ({ sessions }) => figure(sessions) },
]

/** From how much of the own mail failing on somebody should look. */
const MUCH = 0.05

const None = ({ domain }: { readonly domain: string }) => (
  <Section title="What receivers report" says="nothing yet">
    <p>
      Large receivers report once a day who sent mail with {domain} in From, and whether its connections are
      safe. The records above ask them to, at addresses that are read here.
    </p>
  </Section>
)

export const Reports = ({ summary }: { readonly summary: Summary }) => {
  const { mail, own, tls, policy, reports, sources, reporters } = summary
  if (reports === 0) return <None domain={summary.domain} />
  return (
    <>
      <Section title="What receivers report" says={`${figure(reports)} reports of the last 30 days`}>
        <p class="soft">
          Nothing proves who wrote a report: this is what reporters say.
          {summary.cut ? ' There are more; the newest thousand are counted.' : ''}
        </p>
        {own.failed > own.messages * MUCH ? (
          <Note tone="bad" icon="alarm">
            <p>
              <strong>{share(own.failed, own.messages)} of your own mails failed DMARC.</strong> Look whether
              the records above are found, and whether an upstream changes what it sends.
            </p>
          </Note>
        ) : null}
        <Facts
          facts={[
            ['Mails', figure(mail.messages)],
            ['Passed', share(mail.passed, mail.messages)],
            ['Failed', share(mail.failed, mail.messages)],
            ['Your own', `${figure(own.messages)}, failed ${share(own.failed, own.messages)}`],
            ['Quarantined, rejected', `${figure(mail.quarantined)}, ${figure(mail.rejected)}`],
            ['Policy as found', policy === null ? 'none' : <Reply text={policy} />],
            ['TLS', `${figure(tls.sessions)} sessions, failed ${share(tls.failed, tls.sessions)}`],
          ]}
        />
      </Section>
      {sources.length > 0 ? (
        <Section title="Who sent mail of the domain" says="by address">
          <Table columns={SOURCES} rows={sources} caption="Sources of mail" />
        </Section>
      ) : null}
      <Section title="Who reported">
        <Table columns={REPORTERS} rows={reporters} caption="Who reported" />
      </Section>
      {tls.failures.length > 0 ? (
        <Section title="Connections that failed">
          <Table columns={FAILURES} rows={tls.failures} caption="Connections that failed" />
        </Section>
      ) : null}
    </>
  )
}
