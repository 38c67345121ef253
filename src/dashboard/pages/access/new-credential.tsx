/**
 * NAME      new-credential - a login for the SMTP door is made
 * DESCRIPTION
 *   Whoever leaves the password empty gets one that nobody can guess, shown once.
 */
import { randomText } from '../../../base/secret.js'
import type { Form } from '../../form.js'
import type { Done, Page } from '../../page.js'
import { ActionForm, Field, Send } from '../../parts/form.js'
import { Head, Section } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { shownOnce } from '../shown-once.js'
import type { CredentialRow } from './credentials.js'
import { type WorkspaceName, workspacesOf } from './names.js'
import { firstMail } from './new-key.js'
import { type Installation, loginSamples } from './samples.js'
import { Whose } from './whose.js'

const MADE_LENGTH = 24

const createLogin = async (visit: Visit, form: Form): Promise<Done> => {
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

const createWithoutPassword = async (visit: Visit, form: Form): Promise<Done> => {
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
  readonly workspaces: readonly WorkspaceName[]
}

const LoginForm = (asked: Asked) => {
  const { action } = asked
  return (
    <ActionForm {...{ action }}>
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
}

const RangeForm = (asked: Asked) => {
  const { action } = asked
  return (
    <ActionForm {...{ action }}>
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
}

const CertificateForm = (asked: Asked) => {
  const { action } = asked
  return (
    <ActionForm {...{ action }}>
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
}

export const newCredentialPage: Page = {
  path: '/credentials/new',
  opens: 'createCredential',
  async view(visit) {
    const [workspaces, at] = await Promise.all([
      workspacesOf(visit),
      visit.ask<Installation>('GET', '/v1/installation'),
    ])
    const takesRanges = at.submission.some(({ ip_credentials }) => ip_credentials)
    return {
      title: 'Make an SMTP credential',
      body: (
        <>
          <Head title="Make an SMTP credential" crumb={['/credentials', 'SMTP credentials']} />
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
        </>
      ),
    }
  },
  does: { login: 'createCredential', range: 'createCredential', certificate: 'createCredential' },
  actions: { login: createLogin, range: createWithoutPassword, certificate: createWithoutPassword },
}
