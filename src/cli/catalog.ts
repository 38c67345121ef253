/**
 * NAME      catalog - every command there is; the line of a subject names its verbs
 */
import type { Catalog, CatalogEntry } from './command.js'

const entry = (name: string, summary: string, load: CatalogEntry['load']): CatalogEntry => ({
  name,
  summary,
  load,
})

export const CATALOG: Catalog = [
  entry(
    'dev',
    'Try it: loopback only, mail goes to the built-in sandbox',
    async () => (await import('./dev.js')).devCommand,
  ),
  entry('serve', 'Run the daemon', async () => (await import('./serve.js')).serveCommand),
  entry(
    'init',
    'Write the first configuration, and route it',
    async () => (await import('./init.js')).initCommand,
  ),
  entry(
    'doctor',
    'Look for what is wrong, and name the command that mends it',
    async () => (await import('./doctor.js')).doctorCommand,
  ),
  entry(
    'status',
    'Whether mail flows, and if not, what stands in its way',
    async () => (await import('./status.js')).statusCommand,
  ),
  entry(
    'healthcheck',
    'Whether the daemon of this machine lives: 0 or 1, and one line',
    async () => (await import('./healthcheck.js')).healthcheckCommand,
  ),
  entry(
    'apply',
    'Make this installation as YAML files say: the plan first, then a question',
    async () => (await import('./setup.js')).applyCommand,
  ),
  entry(
    'export',
    'Write the files that would make this installation',
    async () => (await import('./setup.js')).exportCommand,
  ),
  entry(
    'workspace',
    'Sending tenants: list, show, create, update, suspend, resume, delete',
    async () => (await import('./workspace.js')).workspaceSubject,
  ),
  entry(
    'key',
    'API keys: list, create, secret, rotate, revoke',
    async () => (await import('./key.js')).keySubject,
  ),
  entry(
    'credential',
    'SMTP names and passwords: list, create, import, revoke',
    async () => (await import('./credential.js')).credentialSubject,
  ),
  entry(
    'pool',
    'Upstream mail servers: list, show, create, update, delete',
    async () => (await import('./pool.js')).poolSubject,
  ),
  entry(
    'upstream',
    'Single upstreams: list, add, test, pause, resume, drain',
    async () => (await import('./upstream.js')).upstreamSubject,
  ),
  entry(
    'domain',
    'Sending domains, DKIM keys and reports: list, show, add, check, reports, rotate, remove',
    async () => (await import('./domain.js')).domainSubject,
  ),
  entry(
    'job',
    'What is done to many mails at once: list, show, cancel',
    async () => (await import('./job.js')).jobSubject,
  ),
  entry(
    'email',
    'Mails and what became of them: list, show, events, source, resend, bulk, reschedule, cancel, tail',
    async () => (await import('./email.js')).emailSubject,
  ),
  entry(
    'stats',
    'How much was accepted, sent, delivered and bounced, and how fast',
    async () => (await import('./stats.js')).statsCommand,
  ),
  entry(
    'event',
    'The log of events: list, show, tail',
    async () => (await import('./event.js')).eventSubject,
  ),
  entry(
    'bounce',
    'Bounce mails: read, ingest, classify, show, rotate-key',
    async () => (await import('./bounce.js')).bounceSubject,
  ),
  entry(
    'queue',
    'What waits: top, ages, throttles, list, holds, hold, release, retry, reroute, purge, export, import, lots, take-back, forget',
    async () => (await import('./queue.js')).queueSubject,
  ),
  entry(
    'suppression',
    'Addresses not to write to: list, show, add, remove, incidents, accept, dismiss, import, export',
    async () => (await import('./suppression.js')).suppressionSubject,
  ),
  entry(
    'import',
    'Take along what another service or mail server has: suppressed addresses, or how it sends',
    async () => (await import('./import.js')).importCommand,
  ),
  entry(
    'webhook',
    'Endpoints that events are posted to: list, create, secret, show, update, delete, rotate, test, events, replay, listen',
    async () => (await import('./webhook.js')).webhookSubject,
  ),
  entry(
    'cluster',
    'The daemons that share a database: show',
    async () => (await import('./database.js')).clusterSubject,
  ),
  entry(
    'clock',
    'The clock and the order of rows: confirm',
    async () => (await import('./database.js')).clockSubject,
  ),
  entry(
    'user',
    'People: list, show, create, update, password, reset-factors, invite, invitations, uninvite',
    async () => (await import('./people.js')).userSubject,
  ),
  entry(
    'session',
    'Who is signed in, and credentials for administration: list, create, revoke',
    async () => (await import('./people.js')).sessionSubject,
  ),
  entry(
    'setup-link',
    'Make a link that opens the dashboard signed in, once, within 30 minutes',
    async () => (await import('./people.js')).setupLinkCommand,
  ),
  entry('audit', 'Who changed what: list', async () => (await import('./audit.js')).auditSubject),
  entry(
    'pepper',
    'The secret under which keys are hashed: show, accept',
    async () => (await import('./database.js')).pepperSubject,
  ),
  entry(
    'config',
    'The settings: check, print, reference',
    async () => (await import('./config.js')).configSubject,
  ),
  entry('send', 'Send one mail through the API', async () => (await import('./send.js')).sendCommand),
  entry(
    'sendmail',
    'Send a message from standard input, as sendmail(8) does',
    async () => (await import('./sendmail.js')).sendmailCommand,
  ),
  entry(
    'mcp',
    'The API as tools of an agent: a server of the Model Context Protocol',
    async () => (await import('./mcp.js')).mcpCommand,
  ),
  entry(
    'backup',
    'Copy the database while it is in use, checked',
    async () => (await import('./database.js')).backupCommand,
  ),
  entry(
    'restore',
    'Put a copy in the place of the database',
    async () => (await import('./database.js')).restoreCommand,
  ),
  entry(
    'migrate',
    'Bring the database up to date, after a copy',
    async () => (await import('./database.js')).migrateCommand,
  ),
  entry(
    'store',
    'Where mail is kept: move, rewound',
    async () => (await import('./database.js')).storeSubject,
  ),
  entry('completion', 'Print the completion script for bash', async () =>
    (await import('./manual.js')).completionFor(CATALOG),
  ),
  entry('version', 'Which Postern this is', async () => (await import('./version.js')).versionCommand),
  entry('man', 'Print the manual page', async () => (await import('./manual.js')).manFor(CATALOG)),
]
