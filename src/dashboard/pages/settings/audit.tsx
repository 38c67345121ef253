/**
 * NAME      audit - who changed what, when, from where
 *   Each entry is a sentence; what exactly changed lies in a fold. The filters of the list go into the export. The page of one thing shows its last changes. The audit is for
 *   owners: on the pages of others there is no history.
 */
import type { AuditEntry } from '../../../resource/people.js'
import type { AskQuery } from '../../ask.js'
import { Filters, type Options, Select, Word } from '../../parts/form.js'
import { Empty, PageBody, Section } from '../../parts/page-parts.js'
import { ExportLinks, exported, type ListPage, Pager, Table } from '../../parts/table.js'
import { Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { type RawRoute, type SitePage, titled, type Visit } from '../../visit.js'

const NAMES: Readonly<Record<string, string>> = {
  workspace: 'workspace',
  api_key: 'API key',
  credential: 'SMTP credential',
  egress_pool: 'pool',
  domain: 'domain',
  suppression: 'suppression',
  webhook: 'webhook',
  hold: 'hold',
  queue: 'waiting mail',
  email: 'mail',
  user: 'person',
  invitation: 'invitation',
  setup_link: 'setup link',
  session: 'session',
  job: 'job',
  lot: 'lot',
  pepper: 'pepper',
  database: 'database',
}

const DID: Readonly<Record<string, string>> = {
  created: 'made',
  updated: 'changed',
  signed_in: 'signed in:',
  signed_out: 'signed out:',
}

const PLAIN: Readonly<Record<string, string>> = {
  'second_factor.added': 'added a second factor of',
  'second_factor.removed': 'removed a second factor of',
  'second_factor.reset': 'took the second factors of',
  'recovery_codes.replaced': 'made new recovery codes of',
  'recovery_code.used': 'used a recovery code of',
  'invitation.created': 'invited',
  'invitation.revoked': 'took back the invitation of',
  'invitation.accepted': 'took the invitation of',
  'session.revoked': 'ended the session of',
  'suppression.accepted': 'suppressed those refused together at',
  'suppression.dismissed': 'let live those refused together at',
}

const OF_MAILS = new Set(['queue', 'hold', 'workspace', 'job', 'lot', 'email'])

/** Members of the detail that name what it is about, the best first. */
const NAMED =
  'name slug user email username cidr certificate_fingerprint domain address pool url prefix'.split(' ')

const nameIn = ({ detail, target }: AuditEntry): string => {
  for (const member of NAMED) {
    const value = detail[member]
    if (typeof value === 'string' && value !== '') return value
  }
  return target.id ?? ''
}

/** A new role is what one looks for in an audit. */
const roleIn = ({ detail: { role } }: AuditEntry): string =>
  role !== null && typeof role === 'object' ? `, role ${valueWords(role)}` : ''

const didWhat = (entry: AuditEntry): { readonly did: string; readonly whom: string } => {
  const [type = '', act = ''] = entry.action.split('.')
  const verb = DID[act] ?? act.replaceAll('_', ' ')
  const { changed: count, user } = entry.detail
  const changed =
    typeof count === 'number'
      ? ` (${OF_MAILS.has(type) ? (count === 1 ? '1 mail' : `${count} mails`) : count})`
      : ''
  // of oneself
  if (entry.action === 'session.created' && typeof user === 'string') return { did: 'signed in', whom: user }
  return {
    did: PLAIN[entry.action] ?? `${verb} the ${NAMES[type] ?? type.replaceAll('_', ' ')}`,
    whom: `${nameIn(entry)}${changed}${roleIn(entry)}`,
  }
}

const PAGES: Readonly<Record<string, string>> = {
  workspace: '/workspaces',
  egress_pool: '/pools',
  webhook: '/webhooks',
  email: '/emails',
  user: '/settings/people',
}

const linkOf = (visit: Visit, { type, id }: AuditEntry['target']): string | null => {
  const path = PAGES[type]
  return path === undefined || id === null ? null : visit.link(`${path}/${encodeURIComponent(id)}`)
}

const plain = (value: unknown): string => {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value)
}

const valueWords = (value: unknown): string => {
  if (value !== null && typeof value === 'object' && 'before' in value && 'after' in value)
    return `${plain(value.before)} → ${plain(value.after)}`
  return plain(value)
}

const Detail = ({ entry }: { readonly entry: AuditEntry }) => {
  const members = Object.entries(entry.detail)
  if (members.length === 0) return null
  const facts = members.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd dir="auto">${valueWords(value)}</dd></div>`,
  )
  return html`<details class="fold"><summary>what exactly</summary><dl class="facts">${facts}</dl></details>`
}

const Sentence = ({ visit, entry }: { readonly visit: Visit; readonly entry: AuditEntry }) => {
  const { actor, target } = entry
  const href = linkOf(visit, target)
  const what = didWhat(entry)
  const { reason } = entry.detail
  const theirs = visit.link('/settings/audit', { actor: actor.id })
  const who = html`<a href="${theirs}" dir="auto">${actor.name ?? actor.id}</a>`
  const whom =
    href === null ? html`<span dir="auto">${what.whom}</span>` : html`<a href="${href}">${what.whom}</a>`
  const why = typeof reason === 'string' && html`<span class="sub" dir="auto">${reason}</span>`
  return html`${who} ${what.did} ${whom}${why}${Detail({ entry })}`
}

const Entries = ({ visit, rows }: { readonly visit: Visit; readonly rows: readonly AuditEntry[] }) => (
  <Table
    caption="Changes, newest first"
    rows={rows}
    columns={[
      { head: 'When', kind: 'solo', cell: (row) => Time({ at: row.created_at }) },
      { head: 'What', kind: 'grow', cell: (row) => Sentence({ visit, entry: row }) },
      { head: 'By way of', kind: 'fit', cell: ({ actor }) => actor.kind },
      { head: 'From', kind: 'fit', cell: ({ actor }) => actor.address ?? '' },
    ]}
  />
)

const SHOWN = 10

export type History = ListPage<AuditEntry> | null

type About = { readonly target: string } | { readonly action: string }

/** What was changed about it; null for who may not know. */
export const historyOf = async (visit: Visit, about: About): Promise<History> =>
  visit.may('listAudit')
    ? visit.ask<ListPage<AuditEntry>>('GET', '/v1/audit', { query: { ...about, limit: SHOWN } })
    : null

export const HistoryOf = ({ visit, about, history }: { visit: Visit; about: About; history: History }) =>
  history === null || history.data.length === 0 ? null : (
    <Section
      title="History"
      actions={
        history.pagination.next_cursor === null ? undefined : (
          <a href={visit.link('/settings/audit', { ...about })}>All of it</a>
        )
      }
    >
      <Entries visit={visit} rows={history.data} />
    </Section>
  )

const HOURS: Options = [
  ['', 'any time'],
  ['24', 'last 24 hours'],
  ['168', 'last 7 days'],
  ['720', 'last 30 days'],
]

const filtersOf = (visit: Visit): AskQuery => {
  const hours = Number(visit.query('hours') ?? Number.NaN)
  return {
    action: visit.query('action'),
    actor: visit.query('actor'),
    target: visit.query('target'),
    workspace: visit.scope.workspace?.startsWith('ws_') ? visit.scope.workspace : null,
    // whole hours, so that cursors still fit when somebody reads on
    since: Number.isNaN(hours) ? null : sinceOf(visit.now, hours),
  }
}

const sinceOf = (now: number, hours: number): string =>
  new Date(Math.floor(now / 3_600_000 - hours) * 3_600_000).toISOString()

const AuditFilters = ({ visit }: { readonly visit: Visit }) => (
  <Filters path="/settings/audit" does="Filter" beside={<a href="/settings/audit">Everything</a>}>
    <Select
      name="action"
      label="What"
      options={[['', 'anything'], ...Object.entries(NAMES)]}
      chosen={visit.query('action')}
    />
    <Select name="hours" label="When" options={HOURS} chosen={visit.query('hours')} />
    <Word name="actor" label="By" placeholder="ana@example.com" />
    <Word name="target" label="About" placeholder="address, name or id" />
  </Filters>
)

export const auditPage: SitePage = {
  path: '/settings/audit',
  opens: 'listAudit',
  async view(visit) {
    const list = await visit.list<ListPage<AuditEntry>>('/v1/audit', { ...filtersOf(visit) })
    return titled(
      'Audit',
      <PageBody
        title="Who changed what"
        says="By the API, the command line and these pages alike; kept for 400 days."
        actions={<ExportLinks path="/settings/audit/export" />}
      >
        <AuditFilters visit={visit} />
        {list.data.length === 0 ? (
          <Empty
            title="Nothing was changed"
            says="Nothing that fits. Sending mail stands in no audit: each mail is its own record."
          />
        ) : (
          <Entries visit={visit} rows={list.data} />
        )}
        <Pager list={list} />
      </PageBody>,
    )
  },
}

export const auditExport: RawRoute = {
  path: '/settings/audit/export',
  answer: (visit) => exported(visit, '/v1/audit', { query: filtersOf(visit) }),
}
