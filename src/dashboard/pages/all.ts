/**
 * NAME      all - the pages, one line each
 */
import type { OpenPage, Page, RawRoute } from '../page.js'
import { credentialsPage } from './access/credentials.js'
import { keysPage } from './access/keys.js'
import { newCredentialPage } from './access/new-credential.js'
import { newKeyPage } from './access/new-key.js'
import { docsPage, documentRoute } from './docs/docs.js'
import { errorPage, errorsPage } from './docs/errors.js'
import { GUIDE_PAGES } from './docs/guides.js'
import { operationPage } from './docs/operation.js'
import { domainPage } from './domains/domain.js'
import { domainsPage } from './domains/domains.js'
import { emailPage } from './email/email.js'
import { EMAIL_ROUTES } from './email/raw.js'
import { reportPage } from './email/report.js'
import { emailsExport, emailsPage } from './emails/emails.js'
import { testMailPage } from './emails/test-mail.js'
import { jobPage, jobsPage } from './jobs/jobs.js'
import { lookPage } from './look.js'
import { overviewPage, statisticsExport } from './overview/overview.js'
import { newPoolPage } from './pools/new.js'
import { poolPage } from './pools/pool.js'
import { poolsPage } from './pools/pools.js'
import { entriesPage } from './queue/entries.js'
import { orderPage } from './queue/order.js'
import { queuePage } from './queue/queue.js'
import { releasePage } from './queue/release.js'
import { auditExport, auditPage } from './settings/audit.js'
import { daemonsPage } from './settings/daemons.js'
import { invitePage, peoplePage } from './settings/people.js'
import { personPage } from './settings/person.js'
import { postmasterPage } from './settings/postmaster.js'
import { secondFactorPage } from './settings/second-factor.js'
import { sessionsPage } from './settings/sessions.js'
import { youPage } from './settings/you.js'
import { suppressionsExport, suppressionsPage } from './suppressions/suppressions.js'
import { editWebhookPage, newWebhookPage } from './webhooks/edit.js'
import { webhooksPage } from './webhooks/list.js'
import { webhookPage } from './webhooks/one.js'
import { editWorkspacePage, newWorkspacePage } from './workspaces/edit.js'
import { workspacesPage } from './workspaces/list.js'
import { workspacePage } from './workspaces/one.js'

export const PAGES: readonly Page[] = [
  overviewPage,
  emailPage,
  reportPage,
  emailsPage,
  testMailPage,
  queuePage,
  entriesPage,
  orderPage,
  releasePage,
  poolsPage,
  newPoolPage,
  poolPage,
  jobPage,
  jobsPage,
  domainsPage,
  domainPage,
  suppressionsPage,
  keysPage,
  newKeyPage,
  credentialsPage,
  newCredentialPage,
  webhooksPage,
  newWebhookPage,
  editWebhookPage,
  webhookPage,
  workspacesPage,
  newWorkspacePage,
  editWorkspacePage,
  workspacePage,
  peoplePage,
  invitePage,
  personPage,
  sessionsPage,
  auditPage,
  daemonsPage,
  postmasterPage,
  youPage,
  secondFactorPage,
  lookPage,
]

export const RAW_ROUTES: readonly RawRoute[] = [
  auditExport,
  emailsExport,
  suppressionsExport,
  statisticsExport,
  ...EMAIL_ROUTES,
]

/** The API reference: for everybody, or, as the settings say, for who has signed in. */
export const DOC_PAGES: readonly OpenPage[] = [docsPage, ...GUIDE_PAGES, operationPage]
export const DOC_ROUTE: RawRoute = documentRoute

/** At addresses where programs get JSON; nobody needs a session. */
export const OPEN_PAGES: readonly OpenPage[] = [errorsPage, errorPage]
