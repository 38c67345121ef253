/**
 * NAME      history - entries of the audit, and those of one thing on its own page
 * DESCRIPTION
 *   Each entry is a sentence; what exactly changed lies in a fold. The audit is for owners: on the pages of others there
 *   is no history.
 */
import type { AuditEntry } from '../../../record/tenants/identity.js'
import { Section } from '../../parts/page-parts.js'
import { type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { html } from '../../render/markup.js'
import type { Visit } from '../../visit.js'
import { didWhat, linkOf, valueWords } from './sentence.js'

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

export const Entries = ({ visit, rows }: { readonly visit: Visit; readonly rows: readonly AuditEntry[] }) => (
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

/** So many stand on the page of what they are about. */
const SHOWN = 10

export type History = List<AuditEntry> | null

/** Of one thing by its id, or of all of a kind. */
type About = { readonly target: string } | { readonly action: string }

/** What was changed about it; null for who may not know. */
export const historyOf = async (visit: Visit, about: About): Promise<History> =>
  visit.may('listAudit')
    ? visit.ask<List<AuditEntry>>('GET', '/v1/audit', { query: { ...about, limit: SHOWN } })
    : null

interface HistoryProps {
  readonly visit: Visit
  readonly about: About
  readonly history: History
}

export const HistoryOf = ({ visit, about, history }: HistoryProps) =>
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
