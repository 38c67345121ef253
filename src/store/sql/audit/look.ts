/**
 * NAME      look - where the rows stand that the rules of the audit look at
 */
import { LOTS } from '../carry/lots.js'
import { WEBHOOKS } from '../hooks/tables.js'
import { FACTORS, LINKS, SESSIONS, USERS } from '../identity/tables.js'
import { CREDENTIALS, DOMAINS, KEYS, POOLS, WORKSPACES } from '../tenants/tables.js'
import { INCIDENTS } from '../watch/incident-tables.js'
import type { LookedTables } from './write.js'

export const LOOKED: LookedTables = {
  workspaces: WORKSPACES,
  keys: KEYS,
  credentials: CREDENTIALS,
  pools: POOLS,
  domains: DOMAINS,
  webhooks: WEBHOOKS,
  users: USERS,
  factors: FACTORS,
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
    name: "(SELECT 'pepper' AS id, mark, (SELECT id FROM accounts ORDER BY ord LIMIT 1) AS account FROM pepper) AS known",
    columns: 'mark, account',
    decode: (row) => ({ mark: String(row.mark), accountId: row.account as string | null }),
  },
}
