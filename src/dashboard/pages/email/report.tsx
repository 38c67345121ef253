/**
 * NAME      report - a mail that came back: what its fields say, and how it came
 *   The fields of RFC 3464 and RFC 5965 as a table, the meaning of each code in words, and below them the mail itself.
 *   It is read here anew, so the table shows what the mail says; what was made of it, which knows more than the mail,
 *   is the event. All of it was written by a stranger, and is text.
 */
import { readReport } from '../../../mail/report/read-report.js'
import type { Report, ReportRecipient } from '../../../mail/report/report.js'
import type { MailEvent } from '../../../record/event.js'
import { AskError, type Problem } from '../../ask.js'
import { codeWords, reasonWords, unappliedWords } from '../../mail/verdict.js'
import { Empty, Facts, PageBody, Reply, Section, TinyLink } from '../../parts/page-parts.js'
import { State, toneOf, word } from '../../parts/status.js'
import { col, Table, type TableColumn } from '../../parts/table.js'
import { Address, isolate, Said, Time } from '../../parts/text.js'
import { type SitePage, titled, type Visit } from '../../visit.js'
import { Verbatim } from './content.js'

/** A report may name thousands; the text below has them all. */
const MOST_ROWS = 100

const KINDS: Readonly<Record<Report['kind'], string>> = {
  bounce: 'Not delivered',
  delay: 'Not delivered yet',
  delivered: 'Delivered',
  arf: 'A reader complained',
  autoreply: 'An automatic answer',
  none: 'A mail that is no report',
}

const SOURCES: Readonly<Record<NonNullable<Report['source']>, string>> = {
  'status-part': 'its part message/delivery-status (RFC 3464)',
  'feedback-part': 'its part message/feedback-report (RFC 5965)',
  raw: 'fields that stand in its text',
  header: 'its field X-Failed-Recipients',
  text: 'its words: it has no fields for programs',
}

const titleOf = ({ kind, reportingMta }: Report): string =>
  `${KINDS[kind]}${reportingMta === null ? '' : `, says ${isolate(reportingMta)}`}.`

/** In the words of the report, and what they became. */
const actionIn = ({ action, unknownAction }: ReportRecipient) =>
  action === null ? (
    <bdi>{unknownAction ?? ''}</bdi>
  ) : (
    <State tone={action === 'failed' ? 'bad' : action === 'delayed' ? 'wait' : 'ok'} icon={ICONS[action]}>
      {action}
    </State>
  )

const ICONS = {
  failed: 'bounced',
  delayed: 'deferred',
  delivered: 'delivered',
  relayed: 'sent',
  expanded: 'sent',
} as const

/** The actions of RFC 3464 section 2.3.3. */
const MEANS = {
  failed: '',
  delayed: 'Not yet: that server goes on trying.',
  delivered: 'It is in the mailbox.',
  relayed: 'It was handed on to a server that sends no such reports.',
  expanded: 'It was handed on to the members of a list.',
} as const

const otherNames = ({ address, originalRecipient, finalRecipient }: ReportRecipient): readonly string[] => [
  ...(originalRecipient === null || originalRecipient === address ? [] : [`sent to ${originalRecipient}`]),
  ...(finalRecipient === null || finalRecipient === address ? [] : [`ended at ${finalRecipient}`]),
]

const COLUMNS: readonly TableColumn<ReportRecipient>[] = [
  col('Recipient', (row) => (
    <>
      <bdi>{row.address ?? 'not named'}</bdi>
      {otherNames(row).map((one) => (
        <bdi class="sub">{one}</bdi>
      ))}
    </>
  )),
  col('Action', 'fit', actionIn),
  col('Status', 'fit', ({ status }) => (status === null ? '' : <code>{status}</code>)),
  col('Means', ({ status, action, category }) => {
    const words = reasonWords(category === 'unknown' ? null : category)
    const why = words === null ? '' : `${words.charAt(0).toUpperCase()}${words.slice(1)}. `
    return `${action === null ? '' : MEANS[action]} ${why}${codeWords(status, action === 'failed') ?? ''}`.trim()
  }),
  col('The server said', 'grow', ({ diagnostic, remoteMta }) => (
    <>
      <Reply text={diagnostic} />
      {remoteMta === null ? null : <bdi class="sub">{remoteMta}</bdi>}
    </>
  )),
]

const Became = ({ event }: { readonly event: MailEvent }) => {
  const kind = event.type.replace(/^email\./, '')
  if (!event.applied) return <>nothing: {unappliedWords(event.detail?.unapplied)}</>
  const why = reasonWords(event.reason)
  return (
    <>
      <span class={`st ${toneOf(kind)}`}>{word(kind)}</span>
      {why === null ? '' : ` ${why}`}
    </>
  )
}

const idIn = (text: string) => (
  <code>
    <Address text={text} />
  </code>
)

const ReportFacts = ({ report, event }: { readonly report: Report; readonly event: MailEvent }) => (
  <Facts
    facts={[
      ['Came', <Time at={event.created_at} exact />],
      ['Reporting MTA', report.reportingMta === null ? 'not named' : <bdi>{report.reportingMta}</bdi>],
      report.feedbackType === undefined ? null : ['Feedback', <bdi>{report.feedbackType}</bdi>],
      report.source === null ? null : ['Read from', SOURCES[report.source]],
      report.originalMessageId === null ? null : ['About the mail', idIn(report.originalMessageId)],
      report.envid === null ? null : ['Envelope id', <code>{report.envid}</code>],
      report.messageId === null ? null : ['Its own Message-ID', idIn(report.messageId)],
      ['Became', <Became event={event} />],
    ]}
  />
)

const octetsOf = async (visit: Visit, path: string): Promise<Buffer> => {
  const answer = await visit.fetch('GET', path)
  if (answer.status >= 400) throw new AskError(JSON.parse(answer.bytes.toString('utf8')) as Problem)
  return answer.bytes
}

export const reportPage: SitePage = {
  path: '/emails/{id}/events/{event}',
  opens: 'getEventReport',
  async view(visit) {
    const { id = '', event: eventId = '' } = visit.params
    const mail = `/v1/emails/${encodeURIComponent(id)}`
    const [raw, event] = await Promise.all([
      octetsOf(visit, `${mail}/events/${encodeURIComponent(eventId)}/report`),
      visit.ask<MailEvent>('GET', `/v1/events/${encodeURIComponent(eventId)}`),
    ])
    const report = await readReport(raw)
    const rows = report.recipients.slice(0, MOST_ROWS)
    return titled(
      titleOf(report),
      <PageBody
        title={<Said text={titleOf(report)} />}
        crumb={[`/emails/${id}`, 'The mail', 'A report about it']}
      >
        <Table
          caption="What it says of each recipient"
          rows={rows}
          columns={COLUMNS}
          look="many"
          none={<Empty title="It names no recipient" />}
        />
        {report.recipients.length > rows.length ? (
          <p class="soft">and {report.recipients.length - rows.length} more</p>
        ) : null}
        <Section title="The report">
          <ReportFacts {...{ report, event }} />
        </Section>
        <Section
          title="As it came"
          says="the first 64 KiB; somebody else wrote it"
          actions={
            <TinyLink to={visit.link(`/emails/${id}/events/${eventId}/report`)}>As plain text</TinyLink>
          }
        >
          <Verbatim>{raw.toString('utf8')}</Verbatim>
        </Section>
      </PageBody>,
    )
  },
}
