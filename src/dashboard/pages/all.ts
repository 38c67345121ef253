/** NAME      all - the pages, one line each, and the links beside every page */
import type { Operation } from '../../tenant/rights.js'
import type { Rail } from '../layout.js'
import type { OpenPage, OpenRaw, RawRoute, SitePage } from '../visit.js'
import { credentialPages } from './access/credentials.js'
import { keyPages } from './access/keys.js'
import { docPage, docsPage, documentRoute, errorPage, errorsPage, MARKDOWN_ROUTES } from './docs/docs.js'
import { domainPages } from './domains/domains.js'
import { EMAIL_ROUTES } from './email/content.js'
import { emailPage } from './email/email.js'
import { reportPage } from './email/report.js'
import { emailsExport, emailsPage } from './emails/emails.js'
import { testMailPage } from './emails/first-mail.js'
import { jobPages } from './jobs.js'
import { lookPage } from './look.js'
import { overviewPage, statisticsExport } from './overview.js'
import { poolPages } from './pools/pools.js'
import { orderPages } from './queue/order.js'
import { queuePages } from './queue/queue.js'
import { auditExport, auditPage } from './settings/audit.js'
import { daemonsPage } from './settings/daemons.js'
import { peoplePages } from './settings/people.js'
import { postmasterPage } from './settings/postmaster.js'
import { ownPages } from './settings/you.js'
import { suppressionsExport, suppressionsPage } from './suppressions/suppressions.js'
import { webhookPage } from './webhooks/webhook.js'
import { webhookPages } from './webhooks/webhooks.js'
import { workspacePages } from './workspaces/workspace.js'
import { workspacesPage } from './workspaces/workspaces.js'

export const PAGES: readonly SitePage[] = [
  [overviewPage, emailPage, reportPage, emailsPage, testMailPage],
  [...queuePages, ...orderPages, ...poolPages, ...jobPages, ...domainPages, suppressionsPage],
  [...keyPages, ...credentialPages, ...webhookPages, webhookPage, workspacesPage, ...workspacePages],
  [...peoplePages, auditPage, daemonsPage, postmasterPage, ...ownPages, lookPage],
].flat()

/** By the heading that they stand below; the first have none. */
const LINKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': { '/': 'Overview', '/emails': 'Emails', '/queue': 'Queue', '/suppressions': 'Suppressions' },
  Egress: { '/pools': 'Pools', '/domains': 'Domains' },
  Integrations: { '/keys': 'API keys', '/credentials': 'SMTP credentials', '/webhooks': 'Webhooks' },
  Settings: {
    ...{ '/workspaces': 'Workspaces', '/settings/people': 'People', '/settings/sessions': 'Sessions' },
    ...{ '/settings/audit': 'Audit', '/settings/daemons': 'Daemons' },
    '/settings/postmaster': 'Mail to postmaster@',
  },
  Reference: { '/docs': 'Documentation', '/errors': 'Errors' },
}

/** What somebody must be allowed to do to be shown the link; unsaid, anybody is. */
const OPENS: Readonly<Record<string, Operation>> = {
  '/settings/people': 'listUsers',
  '/settings/audit': 'listAudit',
  '/settings/postmaster': 'listAudit',
}

export const RAIL: Rail = Object.entries(LINKS).map(([head, links]) => [
  head,
  Object.entries(links).map(([path, text]) => ({
    path,
    text,
    opens: OPENS[path],
  })),
])

export const RAW_ROUTES: readonly RawRoute[] = [
  auditExport,
  emailsExport,
  suppressionsExport,
  statisticsExport,
  ...EMAIL_ROUTES,
]

/** Guides and reference: for everybody, or, as the settings say, for who has signed in. */
export const DOC_PAGES: readonly OpenPage[] = [docsPage, docPage]
export const DOC_TEXTS: readonly OpenRaw[] = MARKDOWN_ROUTES
export const DOC_ROUTE: RawRoute = documentRoute

/** At addresses where programs get JSON; nobody needs a session. */
export const OPEN_PAGES: readonly OpenPage[] = [errorsPage, errorPage]
