/**
 * NAME      catalog - every command there is; of a subject what it is about, to which its verbs are added
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
  entry('workspace', 'Sending tenants', async () => (await import('./workspace.js')).workspaceSubject),
  entry('key', 'API keys', async () => (await import('./key.js')).keySubject),
  entry(
    'credential',
    'SMTP names and passwords',
    async () => (await import('./credential.js')).credentialSubject,
  ),
  entry('pool', 'Upstream mail servers', async () => (await import('./pool.js')).poolSubject),
  entry('upstream', 'Single upstreams', async () => (await import('./upstream.js')).upstreamSubject),
  entry(
    'domain',
    'Sending domains, DKIM keys and reports',
    async () => (await import('./domain.js')).domainSubject,
  ),
  entry('job', 'What is done to many mails at once', async () => (await import('./job.js')).jobSubject),
  entry('email', 'Mails and what became of them', async () => (await import('./email.js')).emailSubject),
  entry(
    'stats',
    'How much was accepted, sent, delivered and bounced, and how fast',
    async () => (await import('./stats.js')).statsCommand,
  ),
  entry('event', 'The log of events', async () => (await import('./event.js')).eventSubject),
  entry('bounce', 'Bounce mails', async () => (await import('./bounce.js')).bounceSubject),
  entry('queue', 'What waits', async () => (await import('./queue.js')).queueSubject),
  entry(
    'suppression',
    'Addresses not to write to',
    async () => (await import('./suppression.js')).suppressionSubject,
  ),
  entry(
    'import',
    'Take along what another service or mail server has: suppressed addresses, or how it sends',
    async () => (await import('./import.js')).importCommand,
  ),
  entry(
    'webhook',
    'Endpoints that events are posted to',
    async () => (await import('./webhook.js')).webhookSubject,
  ),
  entry(
    'cluster',
    'The daemons that share a database',
    async () => (await import('./database.js')).clusterSubject,
  ),
  entry('clock', 'The clock and the order of rows', async () => (await import('./database.js')).clockSubject),
  entry('user', 'People', async () => (await import('./people.js')).userSubject),
  entry(
    'session',
    'Who is signed in, and credentials for administration',
    async () => (await import('./people.js')).sessionSubject,
  ),
  entry(
    'setup-link',
    'Make a link that opens the dashboard signed in, once, within 30 minutes',
    async () => (await import('./people.js')).setupLinkCommand,
  ),
  entry('audit', 'Who changed what', async () => (await import('./audit.js')).auditSubject),
  entry(
    'pepper',
    'The secret under which keys are hashed',
    async () => (await import('./database.js')).pepperSubject,
  ),
  entry('config', 'The settings', async () => (await import('./config.js')).configSubject),
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
  entry('store', 'Where mail is kept', async () => (await import('./database.js')).storeSubject),
  entry('completion', 'Print the completion script for bash', async () =>
    (await import('./manual.js')).completionFor(CATALOG),
  ),
  entry('version', 'Which Postern this is', async () => (await import('./version.js')).versionCommand),
  entry('man', 'Print the manual page', async () => (await import('./manual.js')).manFor(CATALOG)),
]
