/**
 * NAME      postmaster - what strangers wrote to postmaster@ and abuse@ the bounce domain
 *   For owners, as /v1 shows it to no other person. Where bounce.postmaster names somebody such mail goes on to him,
 *   and none of it stands here; else its beginning is all that is kept, decoded, and its octets are not.
 */
import type { EventRecord } from '../../../record/event.js'
import { sizeWords } from '../../mail/checks.js'
import { Empty, PageBody } from '../../parts/page-parts.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { Time } from '../../parts/text.js'
import { type SitePage, titled } from '../../visit.js'
import { Verbatim } from '../email/content.js'

/** What is kept of it (submission/operator-mail.ts). */
interface Kept {
  readonly from: string
  readonly subject: string
  readonly to: string
  readonly text: string
  readonly size: number
  readonly ip: string
  readonly hello: string
}

interface Row {
  readonly at: string
  readonly mail: Kept
}

const COLUMNS: readonly TableColumn<Row>[] = [
  col('When', 'solo', ({ at }) => <Time at={at} />),
  col('From', ({ mail: { from, ip, hello } }) => (
    <>
      <bdi>{from || 'nobody'}</bdi>
      <span class="sub">
        by {ip}, which called itself <bdi>{hello}</bdi>
      </span>
    </>
  )),
  col('To', ({ mail }) => <bdi>{mail.to}</bdi>),
  col('What it says', 'grow', ({ mail: { subject, text, size } }) => (
    <>
      <bdi>{subject || 'No subject'}</bdi>
      <details class="fold">
        <summary>its beginning, of {sizeWords(size)}</summary>
        <Verbatim>{text || 'It has no text.'}</Verbatim>
      </details>
    </>
  )),
]

export const postmasterPage: SitePage = {
  path: '/settings/postmaster',
  // as the audit, it is for owners
  opens: 'listAudit',
  async view(visit) {
    const list = await visit.ask<ListPage<EventRecord & { readonly data: Kept }>>('GET', '/v1/events', {
      query: { type: 'postmaster.received', mode: 'live', limit: 50, cursor: visit.query('cursor') },
      scoped: false,
    })
    return titled(
      'Mail to postmaster@',
      <PageBody
        title="Mail to postmaster@ and abuse@"
        says={
          <>
            Of the bounce domain, from anybody. Its beginning is kept; with <code>bounce.postmaster</code> in
            the settings it goes on to a person, whole.
          </>
        }
      >
        <Table
          look="many"
          caption="Mail to postmaster@ and abuse@, newest first"
          rows={list.data.map(({ occurred_at: at, data: mail }) => ({ at, mail }))}
          columns={COLUMNS}
          none={<Empty title="Nobody has written" />}
        />
        <Pager list={list} />
      </PageBody>,
    )
  },
}
