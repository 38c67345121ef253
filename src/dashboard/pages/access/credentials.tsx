/**
 * NAME      credentials - names and passwords for the SMTP door
 */
import type { Page } from '../../page.js'
import { Code, Empty, Head } from '../../parts/page-parts.js'
import { Pager } from '../../parts/pager.js'
import { type Column, type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { html } from '../../render/markup.js'
import type { Visit } from '../../visit.js'
import { HistoryOf, historyOf } from '../settings/history.js'
import { type WorkspaceName, workspacesOf } from './names.js'
import { bestListener, type Installation } from './samples.js'
import { LastUse, RevokeVerb } from './use.js'
import { SendsFor } from './whose.js'

const ABOUT = { action: 'credential' }

export interface CredentialRow {
  readonly id: string
  readonly workspace_id: string
  readonly mode: 'live' | 'test'
  readonly username: string | null
  readonly cidr: string | null
  readonly certificate_fingerprint: string | null
  readonly imported: boolean
  readonly created_at: string
  readonly last_used_at: string | null
  readonly last_used_from: string | null
}

const loginOf = ({ username, cidr, certificate_fingerprint }: CredentialRow): string =>
  username ?? cidr ?? certificate_fingerprint ?? ''

const kindOf = ({ username, cidr }: CredentialRow): string => {
  if (username !== null) return 'user name and password'
  return cidr === null ? 'client certificate, no password' : 'address range, no password'
}

const followsRevoking = ({ cidr }: CredentialRow): string =>
  cidr === null
    ? 'The next login with it is refused, and an open session at its next mail.'
    : 'Machines of this range must log in from now on, and an open session is refused at its next mail.'

const columns = (visit: Visit, workspaces: readonly WorkspaceName[]): readonly Column<CredentialRow>[] => [
  {
    head: 'Login',
    kind: 'grow',
    cell: (row) =>
      html`<code dir="auto">${loginOf(row)}</code><span class="sub">${kindOf(row)}${row.imported && ', imported'}</span>`,
  },
  {
    head: 'Sends for',
    cell: (row) => SendsFor({ visit, workspaces, row }),
  },
  { head: 'Made', kind: 'opt', cell: (row) => Time({ at: row.created_at }) },
  { head: 'Last used', cell: (row) => LastUse({ visit, row }) },
  {
    does: 'revokeCredential',
    head: '',
    cell: (row) => RevokeVerb({ row, name: loginOf(row), follows: followsRevoking(row) }),
  },
]

/** Where programs connect to. */
const Door = ({ at }: { readonly at: Installation }) => {
  const best = bestListener(at)
  if (best === null)
    return <p class="soft">The SMTP door is closed: the configuration names no submission.</p>
  return (
    <p class="soft">
      Programs connect to{' '}
      {at.submission.map(({ host, port, tls }, n) => (
        <>
          {n === 0 ? '' : ' or '}
          <code>{`${host}:${port}`}</code>
          {tls === 'none' ? ' in clear' : tls === 'starttls' ? ' with STARTTLS' : ' with TLS from the start'}
        </>
      ))}
      .
    </p>
  )
}

const Teach = () => (
  <Empty title="No SMTP credential yet" make={['/credentials/new', 'Make a credential', 'createCredential']}>
    <p>
      For programs and devices that send with a user name and a password, or cannot log in at all. An API key
      works over SMTP, too: as the password, with any user name.
    </p>
    <Code text="postern credential create --workspace default --username printer < secret" />
  </Empty>
)

export const credentialsPage: Page = {
  path: '/credentials',
  async view(visit) {
    const [list, workspaces, at, history] = await Promise.all([
      visit.ask<List<CredentialRow>>('GET', '/v1/credentials', {
        query: { limit: 100, cursor: visit.query('cursor') },
      }),
      workspacesOf(visit),
      visit.ask<Installation>('GET', '/v1/installation'),
      historyOf(visit, ABOUT),
    ])
    const isEmpty = list.data.length === 0 && visit.query('cursor') === null
    return {
      title: 'SMTP credentials',
      body: (
        <>
          <Head
            title="SMTP credentials"
            says="A user name with a password, or a range of addresses that needs none. They open the SMTP door only."
            make={isEmpty ? null : ['/credentials/new', 'Make a credential', 'createCredential']}
          />
          <Door at={at} />
          {isEmpty ? (
            <Teach />
          ) : (
            <Table
              caption="SMTP credentials, newest first"
              rows={list.data}
              columns={columns(visit, workspaces)}
            />
          )}
          <Pager list={list} />
          <HistoryOf visit={visit} about={ABOUT} history={history} />
          {isEmpty ? null : (
            <details class="fold">
              <summary>Bring the names and passwords that programs have already</summary>
              <p>
                On the server, from a file with <code>username,secret</code> in each line; then only the host
                name changes in the programs.
              </p>
              <Code text="postern credential import smtp-users.csv --workspace default" />
            </details>
          )}
        </>
      ),
    }
  },
  does: { revoke: 'revokeCredential' },
  actions: {
    async revoke(visit, form) {
      await visit.ask('DELETE', `/v1/credentials/${encodeURIComponent(form.raw('id'))}`, {
        body: { reason: form.text('reason') },
      })
      return { to: visit.link('/credentials'), notice: `${form.raw('name')} is revoked.` }
    },
  },
}
