/**
 * NAME      credentials - names and passwords for the SMTP door
 *   Whoever leaves the password empty gets one that nobody can guess, shown once.
 */
import { randomText } from '../../../base/secret.js'
import type { credentialRecord } from '../../../resource/tenants.js'
import type { Form } from '../../form.js'
import { ActionForm, Field, Send } from '../../parts/form.js'
import { Code, Empty, ManagedMark, PageBody, Section, shownOnce } from '../../parts/page-parts.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { does, type FormDone, type SitePage, titled, type Visit } from '../../visit.js'
import { HistoryOf, historyOf } from '../settings/audit.js'
import type { ShownWorkspace } from '../workspaces/workspaces.js'
import { bestListener, firstMail, type Installation, loginSamples } from './keys.js'
import { LastUse, RevokeVerb, SendsFor, Whose, workspacesOf } from './whose.js'

const ABOUT = { action: 'credential' }

type CredentialRow = ReturnType<typeof credentialRecord>

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

const columns = (
  visit: Visit,
  workspaces: readonly ShownWorkspace[],
): readonly TableColumn<CredentialRow>[] => [
  col(
    'Login',
    'grow',
    (row) =>
      html`<code dir="auto">${loginOf(row)}</code><span class="sub">${kindOf(row)}${row.imported && ', imported'}</span>${ManagedMark({ row })}`,
  ),
  col('Sends for', (row) => SendsFor({ visit, workspaces, row })),
  col('Made', 'opt', (row) => Time({ at: row.created_at })),
  col('Last used', (row) => LastUse({ visit, row })),
  {
    does: 'revokeCredential',
    head: '',
    cell: (row) => RevokeVerb({ row, name: loginOf(row), follows: followsRevoking(row) }),
  },
]

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

const credentialsPage: SitePage = {
  path: '/credentials',
  async view(visit) {
    const [list, workspaces, at, history] = await Promise.all([
      visit.list<ListPage<CredentialRow>>('/v1/credentials'),
      workspacesOf(visit),
      visit.ask<Installation>('GET', '/v1/installation'),
      historyOf(visit, ABOUT),
    ])
    const isEmpty = list.data.length === 0 && visit.query('cursor') === null
    return titled(
      'SMTP credentials',
      <PageBody
        title="SMTP credentials"
        says="A user name with a password, or a range of addresses that needs none. They open the SMTP door only."
        make={isEmpty ? null : ['/credentials/new', 'Make a credential', 'createCredential']}
      >
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
      </PageBody>,
    )
  },
  actions: {
    revoke: does('revokeCredential', async (visit, form) => {
      await visit.ask('DELETE', `/v1/credentials/${encodeURIComponent(form.raw('id'))}`, {
        body: { reason: form.text('reason') },
      })
      return { to: visit.link('/credentials'), notice: `${form.raw('name')} is revoked.` }
    }),
  },
}

const MADE_LENGTH = 24

const createLogin = async (visit: Visit, form: Form): Promise<FormDone> => {
  const typed = form.raw('password')
  const password = typed === '' ? randomText(MADE_LENGTH) : typed
  const username = form.text('username') ?? ''
  const made = await visit.ask<CredentialRow>('POST', '/v1/credentials', {
    body: { workspace_id: form.text('workspace_id'), mode: form.text('mode'), username, password },
  })
  if (typed !== '') return { to: visit.link('/credentials'), notice: `${username} may log in now.` }
  const [at, workspaces] = await Promise.all([
    visit.ask<Installation>('GET', '/v1/installation'),
    workspacesOf(visit),
  ])
  const sender = firstMail(workspaces, made, visit.who.person?.email ?? null)
  return {
    view: shownOnce({
      visit,
      back: ['/credentials', 'SMTP credentials'],
      title: `${username} may log in now.`,
      says: 'Copy the password now: Postern keeps only a hash of it and cannot show it again.',
      secrets: [
        { label: 'User name', text: username },
        { label: 'Password, shown once', text: password },
      ],
      samples: loginSamples(at, username, password, sender),
    }),
  }
}

const createWithoutPassword = async (visit: Visit, form: Form): Promise<FormDone> => {
  const made = await visit.ask<CredentialRow>('POST', '/v1/credentials', {
    body: {
      workspace_id: form.text('workspace_id'),
      mode: form.text('mode'),
      ...(form.has('cidr')
        ? { cidr: form.text('cidr') ?? '' }
        : { certificate_fingerprint: form.text('certificate_fingerprint') ?? '' }),
    },
  })
  const who = made.cidr === null ? 'Who shows that certificate' : `Machines of ${made.cidr}`
  return { to: visit.link('/credentials'), notice: `${who} may send now.` }
}

interface Asked {
  readonly visit: Visit
  readonly action: string
  readonly workspaces: readonly ShownWorkspace[]
}

const LoginForm = (asked: Asked) => (
  <ActionForm action={asked.action}>
    <Field name="username" label="User name" required maxLength={255} autocomplete="off" />
    <Field
      name="password"
      label="Password"
      type="password"
      autocomplete="new-password"
      hint="Empty: one is made for you and shown once. Else 8 characters or more."
    />
    <Whose {...asked} />
    <Send>Make the login</Send>
  </ActionForm>
)

const RangeForm = (asked: Asked) => (
  <ActionForm action={asked.action}>
    <Field
      name="cidr"
      label="Address range"
      required
      maxLength={100}
      placeholder="192.168.7.0/24"
      hint="Within loopback or private address space."
    />
    <Whose {...asked} />
    <Send plain>Let them send</Send>
  </ActionForm>
)

const CertificateForm = (asked: Asked) => (
  <ActionForm action={asked.action}>
    <Field
      name="certificate_fingerprint"
      label="Fingerprint"
      required
      maxLength={200}
      hint="SHA-256 of the certificate: openssl x509 -noout -fingerprint -sha256 -in client.pem"
    />
    <Whose {...asked} />
    <Send plain>Let it send</Send>
  </ActionForm>
)

const newCredentialPage: SitePage = {
  path: '/credentials/new',
  opens: 'createCredential',
  async view(visit) {
    const [workspaces, at] = await Promise.all([
      workspacesOf(visit),
      visit.ask<Installation>('GET', '/v1/installation'),
    ])
    const takesRanges = at.submission.some(({ ip_credentials }) => ip_credentials)
    return titled(
      'Make an SMTP credential',
      <PageBody title="Make an SMTP credential" crumb={['/credentials', 'SMTP credentials']}>
        <div class="two">
          <Section title="A user name and a password">
            <LoginForm {...{ visit, workspaces }} action="login" />
          </Section>
          <Section
            title="A range of addresses"
            says={
              takesRanges
                ? 'for devices that cannot log in'
                : 'for devices that cannot log in; no listener takes ranges yet (submission[].ip_credentials)'
            }
          >
            <RangeForm {...{ visit, workspaces }} action="range" />
          </Section>
          <Section title="A client certificate" says="for programs that have a key and no password">
            <CertificateForm {...{ visit, workspaces }} action="certificate" />
          </Section>
        </div>
      </PageBody>,
    )
  },
  actions: {
    login: does('createCredential', createLogin),
    range: does('createCredential', createWithoutPassword),
    certificate: does('createCredential', createWithoutPassword),
  },
}

export const credentialPages: readonly SitePage[] = [credentialsPage, newCredentialPage]
