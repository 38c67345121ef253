/**
 * NAME      contract - every endpoint there is, as rows
 *   What the doors are made from: the daemon serves these rows, the document describes them, and `postern mcp` makes its
 *   tools of them without a server.
 */
import type { RouteRow } from './endpoint.js'
import { domains } from './routes/domains.js'
import { batch, emailActions, emails, keptMail } from './routes/emails.js'
import { events } from './routes/events.js'
import { catalogue, cluster, installation, summary, withDocument } from './routes/installation.js'
import { jobs } from './routes/jobs.js'
import { apiKeys, credentials } from './routes/keys.js'
import { audit, people, sessions } from './routes/people.js'
import { pools } from './routes/pools.js'
import { holds, queue } from './routes/queue.js'
import { setups } from './routes/setup.js'
import { statistics } from './routes/statistics.js'
import { incidents, suppressions } from './routes/suppressions.js'
import { webhookPosts, webhooks } from './routes/webhooks.js'
import { workspaces } from './routes/workspaces.js'

/** The whole contract, in the order of the document. */
const ROWS: readonly RouteRow[] = [
  ...emails,
  batch,
  ...emailActions,
  ...keptMail,
  ...jobs,
  ...events,
  ...workspaces,
  ...apiKeys,
  ...credentials,
  ...suppressions,
  ...incidents,
  ...pools,
  ...domains,
  ...statistics,
  ...webhooks,
  ...webhookPosts,
  ...queue,
  ...holds,
  ...people,
  ...sessions,
  ...audit,
  ...setups,
  ...installation,
  ...summary,
  ...cluster,
  ...catalogue,
]

/** All rows, those that describe them among them. `isOpen`: the description is there for everybody. */
export const contract = (isOpen: boolean): readonly RouteRow[] => withDocument(ROWS, isOpen)
