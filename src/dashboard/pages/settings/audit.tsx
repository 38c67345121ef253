/**
 * NAME      audit - who changed what, when, from where
 * DESCRIPTION
 *   The same filters go into the export, which is made
 *   of the pages of /v1, one after the other.
 */

import { Readable } from 'node:stream'
import type { AuditEntry } from '../../../record/tenants/identity.js'
import type { Query } from '../../ask.js'
import type { Page, RawRoute } from '../../page.js'
import { Filters, Select, Word } from '../../parts/filters.js'
import type { Options } from '../../parts/form.js'
import { Empty, Head } from '../../parts/page-parts.js'
import { Pager } from '../../parts/pager.js'
import type { List } from '../../parts/table.js'
import type { Visit } from '../../visit.js'
import { Entries } from './history.js'
import { NAMES } from './sentence.js'

const HOURS: Options = [
  ['', 'any time'],
  ['24', 'last 24 hours'],
  ['168', 'last 7 days'],
  ['720', 'last 30 days'],
]

const filtersOf = (visit: Visit): Query => {
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

export const auditPage: Page = {
  path: '/settings/audit',
  opens: 'listAudit',
  async view(visit) {
    const list = await visit.ask<List<AuditEntry>>('GET', '/v1/audit', {
      query: { limit: 100, cursor: visit.query('cursor'), ...filtersOf(visit) },
    })
    return {
      title: 'Audit',
      body: (
        <>
          <Head
            title="Who changed what"
            says="By the API, the command line and these pages alike; kept for 400 days."
            actions={
              <a class="b" href={`/settings/audit/export${visit.url.search}`}>
                Export
              </a>
            }
          />
          <AuditFilters visit={visit} />
          {list.data.length === 0 ? (
            <Empty title="Nothing was changed">
              <p>Nothing that fits. Sending mail stands in no audit: each mail is its own record.</p>
            </Empty>
          ) : (
            <Entries visit={visit} rows={list.data} />
          )}
          <Pager list={list} />
        </>
      ),
    }
  },
}

const MOST_PAGES = 1000

/** One line of JSON for each entry. */
async function* linesOf(visit: Visit): AsyncGenerator<string> {
  let cursor: string | null = null
  for (let page = 0; page < MOST_PAGES; page++) {
    const list: List<AuditEntry> = await visit.ask<List<AuditEntry>>('GET', '/v1/audit', {
      query: { limit: 100, ...filtersOf(visit), cursor },
    })
    yield list.data.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    cursor = list.pagination.next_cursor
    if (cursor === null) return
  }
}

export const auditExport: RawRoute = {
  path: '/settings/audit/export',
  async answer(visit) {
    // refused before anything is sent
    await visit.ask('GET', '/v1/audit', { query: { limit: 1, ...filtersOf(visit) } })
    return {
      status: 200,
      headers: {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'content-disposition': 'attachment; filename="postern-audit.ndjson"',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      },
      // hapi takes streams of octets only
      body: Readable.from(linesOf(visit), { objectMode: false }),
    }
  },
}
