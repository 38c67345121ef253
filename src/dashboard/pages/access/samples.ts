/**
 * NAME      samples - ready lines for a new secret
 * DESCRIPTION
 *   What a developer pastes to see a first mail: over HTTP with curl and Node, over SMTP with swaks and PHP, with the
 *   addresses and ports of this very installation.
 */
import type { Sample } from '../../parts/page-parts.js'

interface Listener {
  readonly host: string
  readonly port: number
  readonly tls: 'starttls' | 'implicit' | 'none'
  readonly ip_credentials: boolean
}

/** The answer of GET /v1/installation. */
export interface Installation {
  readonly base_url: string
  readonly hostname: string
  readonly submission: readonly Listener[]
}

export interface Sender {
  readonly from: string
  readonly to: string
  /** Of a platform key: the workspace that it names; else null. */
  readonly workspace: string | null
}

/** The listener that a client should rather use: with STARTTLS, then TLS from the start. */
export const bestListener = ({ submission }: Pick<Installation, 'submission'>): Listener | null => {
  for (const wanted of ['starttls', 'implicit', 'none'] as const) {
    const found = submission.find(({ tls }) => tls === wanted)
    if (found !== undefined) return found
  }
  return null
}

/** For a shell: what stands between single quotes is taken as it is. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const SWAKS_TLS = { starttls: ' --tls', implicit: ' --tls-on-connect', none: '' } as const
const PHP_TLS = {
  starttls: 'PHPMailer::ENCRYPTION_STARTTLS',
  implicit: 'PHPMailer::ENCRYPTION_SMTPS',
  none: "''",
} as const

const curl = (url: string, secret: string, { from, to, workspace }: Sender): Sample => {
  const body = JSON.stringify({ from, to, subject: 'Hello', text: 'It works.' })
  const named = workspace === null ? '' : `  -H ${quoted(`X-Workspace-Id: ${workspace}`)} \\\n`
  const text = `curl ${quoted(`${url}/v1/emails`)} \\
  -H ${quoted(`Authorization: Bearer ${secret}`)} \\
${named}  -H 'Content-Type: application/json' \\
  -d ${quoted(body)}`
  return { name: 'curl', text }
}

const node = (url: string, secret: string, { from, to, workspace }: Sender): Sample => {
  const named = workspace === null ? '' : `    'X-Workspace-Id': ${JSON.stringify(workspace)},\n`
  const text = `const answer = await fetch(${JSON.stringify(`${url}/v1/emails`)}, {
  method: 'POST',
  headers: {
    Authorization: 'Bearer ${secret}',
${named}    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    from: ${JSON.stringify(from)},
    to: ${JSON.stringify(to)},
    subject: 'Hello',
    text: 'It works.',
  }),
})
console.log(answer.status, await answer.json())`
  return { name: 'Node', text }
}

const swaks = (
  { host, port, tls }: Listener,
  user: string,
  password: string,
  { from, to }: Sender,
): Sample => ({
  name: 'swaks',
  text: `swaks --server ${host}:${port}${SWAKS_TLS[tls]} --auth PLAIN \\
  --auth-user ${quoted(user)} --auth-password ${quoted(password)} \\
  --from ${quoted(bare(from))} --to ${quoted(to)} --header 'Subject: Hello'`,
})

const php = ({ host, port, tls }: Listener, user: string, password: string, { from, to }: Sender): Sample => {
  const said = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const text = `use PHPMailer\\PHPMailer\\PHPMailer;

$mail = new PHPMailer(true);
$mail->isSMTP();
$mail->Host = ${said(host)};
$mail->Port = ${port};
$mail->SMTPSecure = ${PHP_TLS[tls]};
$mail->SMTPAuth = true;
$mail->Username = ${said(user)};
$mail->Password = ${said(password)};
$mail->setFrom(${said(bare(from))});
$mail->addAddress(${said(to)});
$mail->Subject = 'Hello';
$mail->Body = 'It works.';
$mail->send();`
  return { name: 'PHP', text }
}

/** `Shop <a@b.test>` as `a@b.test`. */
const bare = (from: string): string => /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from

export const loginSamples = (
  at: Installation,
  user: string,
  password: string,
  sender: Sender,
): readonly Sample[] => {
  const listener = bestListener(at)
  return listener === null
    ? []
    : [swaks(listener, user, password, sender), php(listener, user, password, sender)]
}

export const keySamples = (at: Installation, secret: string, sender: Sender): readonly Sample[] => [
  curl(at.base_url, secret, sender),
  node(at.base_url, secret, sender),
  // a platform key has no workspace of its own: over SMTP the user name says it
  ...loginSamples(at, sender.workspace ?? 'apikey', secret, sender),
]
