/**
 * NAME      first-mail - how a list that has no mail yet gets one
 */
import { Code } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'

const curlLine = (base: string): string =>
  `curl ${base.replace(/\/+$/, '')}/v1/emails \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"from":"Acme <hello@acme.test>","to":"delivered@example.com","subject":"Hello","text":"It works"}'`

const swaksLine = (base: string): string =>
  `swaks --server ${new URL(base).hostname}:587 --tls --auth PLAIN --auth-user apikey --auth-password "$KEY" \\
  --from hello@acme.test --to delivered@example.com`

/** Three steps to the first mail. */
export const FirstMail = ({ visit }: { readonly visit: Visit }) => (
  <div class="teach">
    <ol>
      <li>
        <div>
          <h2>Have a key</h2>
          <p class="soft">
            {visit.isDev
              ? 'Dev mode has made one, and names its file where it was started. Nothing leaves this machine.'
              : 'Mail of a test key ends in the sandbox: nothing leaves the house.'}
          </p>
          {visit.may('createApiKey') ? (
            <p class="actions">
              <a class="b main" href={visit.link('/keys/new')}>
                Create a key
              </a>
            </p>
          ) : null}
        </div>
      </li>
      <li>
        <div>
          <h2>Send</h2>
          <Code label="curl" text={curlLine(visit.baseUrl)} />
          {visit.isDev ? null : <Code label="swaks, by SMTP" text={swaksLine(visit.baseUrl)} />}
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
