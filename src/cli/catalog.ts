/**
 * NAME      catalog - every command there is; the line of a subject names its verbs
 */
import type { Catalog, CatalogEntry, Command, Subject } from './command.js'

type Loaded = Command | Subject

const made = (name: string, summary: string, load: CatalogEntry['load']): CatalogEntry => ({
  ...{ name, summary, load },
})

/** Its file exports it as `nameSubject` or `nameCommand`. */
const entry = (name: string, summary: string, file: () => Promise<object>): CatalogEntry =>
  made(name, summary, async () => {
    const word = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
    const { [`${word}Subject`]: subject, [`${word}Command`]: command } = (await file()) as Record<
      string,
      Loaded
    >
    const found = subject ?? command
    if (found === undefined) throw new Error(`no file exports ${word}Subject or ${word}Command`)
    return found
  })

export const CATALOG: Catalog = [
  entry('dev', 'Try it: loopback only, mail goes to the built-in sandbox', () => import('./dev.js')),
  entry('serve', 'Run the daemon', () => import('./serve.js')),
  entry('init', 'Write the first configuration, and route it', () => import('./init.js')),
  entry('doctor', 'Look for what is wrong, and name the command that mends it', () => import('./doctor.js')),
  entry('status', 'Whether mail flows, and if not, what stands in its way', () => import('./status.js')),
  entry(
    'healthcheck',
    'Whether the daemon of this machine lives: 0 or 1, and one line',
    () => import('./healthcheck.js'),
  ),
  entry(
    'apply',
    'Make this installation as YAML files say: the plan first, then a question',
    () => import('./setup.js'),
  ),
  entry('export', 'Write the files that would make this installation', () => import('./setup.js')),
  entry(
    'workspace',
    'Sending tenants: list, show, create, update, suspend, resume, delete',
    () => import('./workspace.js'),
  ),
  entry('key', 'API keys: list, create, secret, rotate, revoke', () => import('./key.js')),
  entry(
    'credential',
    'SMTP names and passwords: list, create, import, revoke',
    () => import('./credential.js'),
  ),
  entry('pool', 'Upstream mail servers: list, show, create, update, delete', () => import('./pool.js')),
  entry('upstream', 'Single upstreams: list, add, test, pause, resume, drain', () => import('./upstream.js')),
  entry(
    'domain',
    'Sending domains, DKIM keys and reports: list, show, add, check, reports, rotate, remove',
    () => import('./domain.js'),
  ),
  entry('job', 'What is done to many mails at once: list, show, cancel', () => import('./job.js')),
  entry(
    'email',
    'Mails and what became of them: list, show, events, source, resend, bulk, reschedule, cancel, tail',
    () => import('./email.js'),
  ),
  entry(
    'stats',
    'How much was accepted, sent, delivered and bounced, and how fast',
    () => import('./stats.js'),
  ),
  entry('event', 'The log of events: list, show, tail', () => import('./event.js')),
  entry('bounce', 'Bounce mails: read, ingest, classify, show, rotate-key', () => import('./bounce.js')),
  entry(
    'queue',
    'What waits: top, ages, throttles, list, holds, hold, release, retry, reroute, purge, export, import, lots, take-back, forget',
    () => import('./queue.js'),
  ),
  entry(
    'suppression',
    'Addresses not to write to: list, show, add, remove, incidents, accept, dismiss, import, export',
    () => import('./suppression.js'),
  ),
  entry(
    'import',
    'Take along what another service or mail server has: suppressed addresses, or how it sends',
    () => import('./import.js'),
  ),
  entry(
    'webhook',
    'Endpoints that events are posted to: list, create, secret, show, update, delete, rotate, test, events, replay, listen',
    () => import('./webhook.js'),
  ),
  entry('cluster', 'The daemons that share a database: show', () => import('./database.js')),
  entry('clock', 'The clock and the order of rows: confirm', () => import('./database.js')),
  entry(
    'user',
    'People: list, show, create, update, password, reset-factors, invite, invitations, uninvite',
    () => import('./people.js'),
  ),
  entry(
    'session',
    'Who is signed in, and credentials for administration: list, create, revoke',
    () => import('./people.js'),
  ),
  entry(
    'setup-link',
    'Make a link that opens the dashboard signed in, once, within 30 minutes',
    () => import('./people.js'),
  ),
  entry('audit', 'Who changed what: list', () => import('./audit.js')),
  entry('pepper', 'The secret under which keys are hashed: show, accept', () => import('./database.js')),
  entry('config', 'The settings: check, print, reference', () => import('./config.js')),
  entry('send', 'Send one mail through the API', () => import('./send.js')),
  entry('sendmail', 'Send a message from standard input, as sendmail(8) does', () => import('./sendmail.js')),
  entry(
    'mcp',
    'The API as tools of an agent: a server of the Model Context Protocol',
    () => import('./mcp.js'),
  ),
  entry('backup', 'Copy the database while it is in use, checked', () => import('./database.js')),
  entry('restore', 'Put a copy in the place of the database', () => import('./database.js')),
  entry('migrate', 'Bring the database up to date, after a copy', () => import('./database.js')),
  entry('store', 'Where mail is kept: move, rewound', () => import('./database.js')),
  made('completion', 'Print the completion script for bash', async () =>
    (await import('./manual.js')).completionFor(CATALOG),
  ),
  entry('version', 'Which Postern this is', () => import('./version.js')),
  made('man', 'Print the manual page', async () => (await import('./manual.js')).manFor(CATALOG)),
]
