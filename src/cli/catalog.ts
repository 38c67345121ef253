/**
 * NAME      catalog - every command there is
 */
import type { Catalog } from './command.js'

export const CATALOG: Catalog = [
  {
    name: 'dev',
    summary: 'Try it: loopback only, mail goes to the built-in sandbox',
    load: async () => (await import('./dev.js')).devCommand,
  },
  {
    name: 'serve',
    summary: 'Run the daemon',
    load: async () => (await import('./serve.js')).serveCommand,
  },
  {
    name: 'init',
    summary: 'Write the first configuration, and route it',
    load: async () => (await import('./init.js')).initCommand,
  },
  {
    name: 'doctor',
    summary: 'Look for what is wrong, and name the command that mends it',
    load: async () => (await import('./doctor.js')).doctorCommand,
  },
  {
    name: 'status',
    summary: 'Whether mail flows, and if not, what stands in its way',
    load: async () => (await import('./status.js')).statusCommand,
  },
  {
    name: 'healthcheck',
    summary: 'Whether the daemon of this machine lives: 0 or 1, and one line',
    load: async () => (await import('./healthcheck.js')).healthcheckCommand,
  },
  {
    name: 'apply',
    summary: 'Make this installation as YAML files say: the plan first, then a question',
    load: async () => (await import('./setup.js')).applyCommand,
  },
  {
    name: 'export',
    summary: 'Write the files that would make this installation',
    load: async () => (await import('./setup.js')).exportCommand,
  },
  {
    name: 'workspace',
    summary: 'Sending tenants: list, show, create, update, suspend, resume, delete',
    load: async () => (await import('./workspace.js')).workspaceSubject,
  },
  {
    name: 'key',
    summary: 'API keys: list, create, secret, rotate, revoke',
    load: async () => (await import('./key.js')).keySubject,
  },
  {
    name: 'credential',
    summary: 'SMTP names and passwords: list, create, import, revoke',
    load: async () => (await import('./credential.js')).credentialSubject,
  },
  {
    name: 'pool',
    summary: 'Upstream mail servers: list, show, create, update, delete',
    load: async () => (await import('./pool.js')).poolSubject,
  },
  {
    name: 'upstream',
    summary: 'Single upstreams: list, add, test, pause, resume, drain',
    load: async () => (await import('./upstream.js')).upstreamSubject,
  },
  {
    name: 'domain',
    summary: 'Sending domains, DKIM keys and reports: list, show, add, check, reports, rotate, remove',
    load: async () => (await import('./domain.js')).domainSubject,
  },
  {
    name: 'job',
    summary: 'What is done to many mails at once: list, show, cancel',
    load: async () => (await import('./job.js')).jobSubject,
  },
  {
    name: 'email',
    summary:
      'Mails and what became of them: list, show, events, source, resend, bulk, reschedule, cancel, tail',
    load: async () => (await import('./email.js')).emailSubject,
  },
  {
    name: 'stats',
    summary: 'How much was accepted, sent, delivered and bounced, and how fast',
    load: async () => (await import('./stats.js')).statsCommand,
  },
  {
    name: 'event',
    summary: 'The log of events: list, show, tail',
    load: async () => (await import('./event.js')).eventSubject,
  },
  {
    name: 'bounce',
    summary: 'Bounce mails: read, ingest, classify, show, rotate-key',
    load: async () => (await import('./bounce.js')).bounceSubject,
  },
  {
    name: 'queue',
    summary:
      'What waits: top, ages, throttles, list, holds, hold, release, retry, reroute, purge, export, import, lots, take-back, forget',
    load: async () => (await import('./queue.js')).queueSubject,
  },
  {
    name: 'suppression',
    summary: 'Addresses not to write to: list, show, add, remove, incidents, accept, dismiss, import, export',
    load: async () => (await import('./suppression.js')).suppressionSubject,
  },
  {
    name: 'import',
    summary: 'Take along what another service or mail server has: suppressed addresses, or how it sends',
    load: async () => (await import('./import.js')).importCommand,
  },
  {
    name: 'webhook',
    summary:
      'Endpoints that events are posted to: list, create, secret, show, update, delete, rotate, test, events, replay, listen',
    load: async () => (await import('./webhook.js')).webhookSubject,
  },
  {
    name: 'cluster',
    summary: 'The daemons that share a database: show',
    load: async () => (await import('./database.js')).clusterSubject,
  },
  {
    name: 'clock',
    summary: 'The clock and the order of rows: confirm',
    load: async () => (await import('./database.js')).clockSubject,
  },
  {
    name: 'user',
    summary: 'People: list, show, create, update, password, reset-factors, invite, invitations, uninvite',
    load: async () => (await import('./people.js')).userSubject,
  },
  {
    name: 'session',
    summary: 'Who is signed in, and credentials for administration: list, create, revoke',
    load: async () => (await import('./people.js')).sessionSubject,
  },
  {
    name: 'setup-link',
    summary: 'Make a link that opens the dashboard signed in, once, within 30 minutes',
    load: async () => (await import('./people.js')).setupLinkCommand,
  },
  {
    name: 'audit',
    summary: 'Who changed what: list',
    load: async () => (await import('./audit.js')).auditSubject,
  },
  {
    name: 'pepper',
    summary: 'The secret under which keys are hashed: show, accept',
    load: async () => (await import('./database.js')).pepperSubject,
  },
  {
    name: 'config',
    summary: 'The settings: check, print, reference',
    load: async () => (await import('./config.js')).configSubject,
  },
  {
    name: 'send',
    summary: 'Send one mail through the API',
    load: async () => (await import('./send.js')).sendCommand,
  },
  {
    name: 'sendmail',
    summary: 'Send a message from standard input, as sendmail(8) does',
    load: async () => (await import('./sendmail.js')).sendmailCommand,
  },
  {
    name: 'mcp',
    summary: 'The API as tools of an agent: a server of the Model Context Protocol',
    load: async () => (await import('./mcp.js')).mcpCommand,
  },
  {
    name: 'backup',
    summary: 'Copy the database while it is in use, checked',
    load: async () => (await import('./database.js')).backupCommand,
  },
  {
    name: 'restore',
    summary: 'Put a copy in the place of the database',
    load: async () => (await import('./database.js')).restoreCommand,
  },
  {
    name: 'migrate',
    summary: 'Bring the database up to date, after a copy',
    load: async () => (await import('./database.js')).migrateCommand,
  },
  {
    name: 'store',
    summary: 'Where mail is kept: move, rewound',
    load: async () => (await import('./database.js')).storeSubject,
  },
  {
    name: 'completion',
    summary: 'Print the completion script for bash',
    load: async () => (await import('./manual.js')).completionFor(CATALOG),
  },
  {
    name: 'version',
    summary: 'Which Postern this is',
    load: async () => (await import('./version.js')).versionCommand,
  },
  {
    name: 'man',
    summary: 'Print the manual page',
    load: async () => (await import('./manual.js')).manFor(CATALOG),
  },
]
