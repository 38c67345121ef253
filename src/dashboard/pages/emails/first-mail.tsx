/**
 * NAME      first-mail - how a list that has no mail yet gets one
 *   By a program, or by a form: into the sandbox, of any workspace, with any outcome that it knows. That one is sent in
 *   test mode whatever the page looks at, so nothing leaves the house.
 */
import { SIMULATIONS } from '../../../sandbox/simulation.js'
import type { Form } from '../../form.js'
import { ActionForm, Choice, Field, FoldedFields, Hidden, Send } from '../../parts/form.js'
import { Code, PageBody } from '../../parts/page-parts.js'
import { does, type FormDone, type SitePage, type Visit, type WorkspaceName } from '../../visit.js'

const SENDER = 'hello@acme.test'

const OUTCOMES = [
  ...SIMULATIONS.map(({ name, shows }) => [name, `${name}: ${shows.split(';')[0]}`] as const),
  ['suppressed', 'suppressed: on the suppression list, so it bounces before it is sent'] as const,
]

interface TestMailProps {
  readonly workspaces: readonly WorkspaceName[]
  readonly chosen: string | null
}

const WorkspaceField = ({ workspaces: names, chosen }: TestMailProps) =>
  names.length < 2 ? (
    <Hidden of={{ workspace: names[0]?.slug }} />
  ) : (
    <Choice
      name="workspace"
      label="Workspace"
      value={names.find(({ id, slug }) => id === chosen || slug === chosen)?.slug ?? 'default'}
      options={names.map(({ slug }) => [slug, slug] as const)}
    />
  )

const TestMailForm = (props: TestMailProps) => (
  <ActionForm action="test-mail">
    <Choice name="outcome" label="What becomes of it" options={OUTCOMES} />
    <WorkspaceField {...props} />
    <FoldedFields title="From and subject">
      <Field name="from" label="From" value={SENDER} required />
      <Field name="subject" label="Subject" value="Hello from Postern" />
    </FoldedFields>
    <Send>Send a test mail</Send>
  </ActionForm>
)

const TEXT = 'It works.\n\nThis mail was sent from the dashboard, and ends in the sandbox.\n'
const HTML =
  '<h1>It works.</h1><p>This mail was sent from the dashboard, and ends in the <b>sandbox</b>: nothing left the house.</p>'

const send = async (visit: Visit, form: Form): Promise<FormDone> => {
  const workspace = form.text('workspace')
  await visit.ask('POST', '/v1/emails', {
    query: { mode: 'test' },
    body: {
      from: form.raw('from'),
      to: `${form.raw('outcome')}@example.com`,
      subject: form.raw('subject'),
      ...{ text: TEXT, html: HTML },
    },
    ...(workspace !== null && { scoped: false, headers: { 'x-workspace-id': workspace } }),
  })
  return {
    to: visit.link('/emails', { mode: visit.isDev ? null : 'test', workspace: null }),
    notice: 'Sent into the sandbox: it stands on top of this list.',
  }
}

export const TEST_MAIL = { actions: { 'test-mail': does('sendEmail', send) } }

export const testMailPage: SitePage = {
  path: '/emails/test',
  opens: 'sendEmail',
  async view(visit, refused) {
    const workspaces = await visit.workspaces()
    return {
      title: 'Send a test mail',
      ...(refused !== null && { status: refused.problem.status }),
      body: (
        <PageBody
          crumb={['/emails', 'Emails']}
          title="Send a test mail"
          says="Into the sandbox: the outcome is simulated, and nobody gets it."
        >
          <TestMailForm workspaces={workspaces} chosen={visit.scope.workspace} />
        </PageBody>
      ),
    }
  },
  ...TEST_MAIL,
}

const makeKey = (workspace: string): string =>
  `KEY=$(postern key create --workspace ${workspace} --mode test --name "my first program")`

const curlLine = (base: string, key: string): string =>
  `curl ${base.replace(/\/+$/, '')}/v1/emails \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"from":"Acme <hello@acme.test>","to":"delivered@example.com","subject":"Hello","text":"It works"}'`

const swaksLine = (base: string): string =>
  `swaks --server ${new URL(base).hostname}:587 --tls --auth PLAIN --auth-user apikey --auth-password "$KEY" \\
  --from hello@acme.test --to delivered@example.com`

/** Lines that work as they are pasted: with the key of dev mode, or with one that they make. */
const ByProgram = ({ visit, workspaces }: { visit: Visit; workspaces: readonly WorkspaceName[] }) => {
  const { devKey, scope } = visit
  const chosen = workspaces.find(({ id, slug }) => id === scope.workspace || slug === scope.workspace)
  if (devKey !== null) return <Code label="curl" text={curlLine(visit.baseUrl, devKey)} />
  const made = makeKey(chosen?.slug ?? 'default')
  return (
    <>
      <Code label="curl, on the server" text={`${made}\n${curlLine(visit.baseUrl, '$KEY')}`} />
      <Code label="swaks, by SMTP" text={swaksLine(visit.baseUrl)} />
      {visit.may('createApiKey') ? (
        <p class="soft">
          Elsewhere a key of your own does it: <a href={visit.link('/keys/new')}>create a key</a>.
        </p>
      ) : null}
    </>
  )
}

export const FirstMail = (props: { visit: Visit; workspaces: readonly WorkspaceName[] }) => {
  const { visit, workspaces } = props
  const maySend = visit.may('sendEmail')
  return (
    <div class="teach">
      <ol>
        {maySend ? (
          <li>
            <div>
              <h2>From here</h2>
              <TestMailForm workspaces={workspaces} chosen={visit.scope.workspace} />
            </div>
          </li>
        ) : null}
        <li>
          <div>
            <h2>From a program</h2>
            <p class="soft">
              {visit.isDev
                ? 'Nothing leaves this machine.'
                : 'Mail of a test key ends in the sandbox: nothing leaves the house.'}
            </p>
            <ByProgram {...props} />
          </div>
        </li>
        <li>
          <div>
            <h2>See what a bounce looks like</h2>
            <p class="soft">
              In test mode the address chooses the outcome: <code>bounced@</code>, <code>deferred@</code>,{' '}
              <code>bounced-later@</code>, <code>slow@</code> or <code>complained@</code>, at any domain.
            </p>
          </div>
        </li>
      </ol>
    </div>
  )
}
