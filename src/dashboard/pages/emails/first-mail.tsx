/**
 * NAME      first-mail - how a list that has no mail yet gets one
 */
import { Code } from '../../parts/page-parts.js'
import type { Visit, WorkspaceName } from '../../visit.js'
import { TestMailForm } from './test-mail.js'

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

interface Props {
  readonly visit: Visit
  readonly workspaces: readonly WorkspaceName[]
}

/** Lines that work as they are pasted: with the key of dev mode, or with one that they make. */
const ByProgram = ({ visit, workspaces }: Props) => {
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

/** The ways to the first mail. */
export const FirstMail = (props: Props) => {
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
