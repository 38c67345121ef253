/**
 * NAME      test-mail - a mail from the browser into the sandbox
 * DESCRIPTION
 *   Of any workspace, with any outcome that the sandbox knows. It is sent in test mode whatever the page looks at, so
 *   nothing leaves the house.
 */
import { SIMULATIONS } from '../../../sandbox/simulation.js'
import type { Form } from '../../form.js'
import type { Done, Page } from '../../page.js'
import { ActionForm, Choice, Field, FoldedFields, Hidden, Send } from '../../parts/form.js'
import { Head } from '../../parts/page-parts.js'
import type { Visit, WorkspaceName } from '../../visit.js'

const SENDER = 'hello@acme.test'

const OUTCOMES = [
  ...SIMULATIONS.map(({ name, shows }) => [name, `${name}: ${shows.split(';')[0]}`] as const),
  ['suppressed', 'suppressed: on the suppression list, so it bounces before it is sent'] as const,
]

interface Props {
  readonly workspaces: readonly WorkspaceName[]
  readonly chosen: string | null
}

const WorkspaceField = ({ workspaces: names, chosen }: Props) =>
  names.length < 2 ? (
    <Hidden of={{ workspace: names[0]?.slug }} />
  ) : (
    <Choice
      name="workspace"
      label="Workspace"
      value={names.find(({ id, slug }) => id === chosen || slug === chosen)?.slug ?? 'default'}
      options={names.map(({ slug }) => [slug, slug])}
    />
  )

export const TestMailForm = (props: Props) => (
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

const send = async (visit: Visit, form: Form): Promise<Done> => {
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

export const TEST_MAIL = {
  actions: { 'test-mail': send },
  does: { 'test-mail': 'sendEmail' },
} as const

export const testMailPage: Page = {
  path: '/emails/test',
  opens: 'sendEmail',
  async view(visit, refused) {
    const workspaces = await visit.workspaces()
    return {
      title: 'Send a test mail',
      ...(refused !== null && { status: refused.problem.status }),
      body: (
        <>
          <Head
            crumb={['/emails', 'Emails']}
            title="Send a test mail"
            says="Into the sandbox: the outcome is simulated, and nobody gets it."
          />
          <TestMailForm workspaces={workspaces} chosen={visit.scope.workspace} />
        </>
      ),
    }
  },
  ...TEST_MAIL,
}
