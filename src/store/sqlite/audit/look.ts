/**
 * NAME      look - where the rows stand that the rules of the audit look at
 */

import type { LookedTables } from '../../sql/audit/write.js'
import { LOTS } from '../../sql/carry/lots.js'
import { WEBHOOKS } from '../../sql/hooks/tables.js'
import { LINKS, SESSIONS, USERS } from '../../sql/identity/tables.js'
import { CREDENTIALS, DOMAINS, KEYS, POOLS, WORKSPACES } from '../../sql/tenants/tables.js'
import { INCIDENTS } from '../../sql/watch/incident-tables.js'

export const LOOKED: LookedTables = {
  workspaces: WORKSPACES,
  keys: KEYS,
  credentials: CREDENTIALS,
  pools: POOLS,
  domains: DOMAINS,
  webhooks: WEBHOOKS,
  users: USERS,
  links: LINKS,
  sessions: SESSIONS,
  incidents: INCIDENTS,
  lots: LOTS,
  mails: {
    name: '(SELECT e.id, e.scheduled_at, e.scheduled, w.id AS workspace_id FROM emails e JOIN workspaces w ON w.n = e.workspace) AS mail',
    columns: 'scheduled_at, scheduled, workspace_id',
    decode: (row) => ({
      scheduledAt: row.scheduled_at as number | null,
      isOver: row.scheduled === 0,
      workspaceId: String(row.workspace_id),
    }),
  },
  pepper: {
    name: "(SELECT 'pepper' AS id, mark, (SELECT id FROM accounts ORDER BY rowid LIMIT 1) AS account FROM pepper) AS known",
    columns: 'mark, account',
    decode: (row) => ({ mark: String(row.mark), accountId: row.account as string | null }),
  },
}
