/**
 * NAME      emails - the list of mails
 */
import type { Page } from '../page.js'
import { Empty, Head } from '../parts/page-parts.js'
import { Pager } from '../parts/pager.js'
import { Status } from '../parts/status.js'
import { type List, Table } from '../parts/table.js'
import { Time } from '../parts/time.js'

export interface EmailRow {
  readonly id: string
  readonly status: string
  readonly subject: string
  readonly from: string
  readonly to: readonly string[]
  readonly created_at: string
}

export const emailsPage: Page = {
  path: '/emails',
  async view(visit) {
    const cursor = visit.query('cursor')
    const list = await visit.ask<List<EmailRow>>('GET', '/v1/emails', {
      query: { mode: visit.scope.mode, status: visit.query('status'), cursor },
    })
    return {
      title: 'Emails',
      body: (
        <>
          <Head title="Emails" />
          {list.data.length === 0 ? (
            <Empty title="No mail yet" />
          ) : (
            <Table
              caption="Emails, newest first"
              rows={list.data}
              href={(row) => visit.link(`/emails/${row.id}`)}
              columns={[
                { head: 'Status', cell: (row) => <Status status={row.status} /> },
                { head: 'To', cell: (row) => row.to.join(', ') },
                { head: 'Subject', kind: 'grow', cell: (row) => <span dir="auto">{row.subject}</span> },
                { head: 'Accepted', cell: (row) => <Time visit={visit} at={row.created_at} /> },
              ]}
            />
          )}
          <Pager visit={visit} list={list} />
        </>
      ),
    }
  },
}
