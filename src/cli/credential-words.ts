/**
 * NAME      credential-words - what the commands about SMTP credentials share
 */
import type { CredentialRow } from '../store/port/tenants/tenants.js'
import { loginText } from '../tenant/credential.js'
import { type Paint, table } from './terminal.js'
import { ago } from './time.js'

export const credentialTable = (paint: Paint, rows: readonly CredentialRow[]): string =>
  table(
    paint,
    ['id', 'login', 'workspace', 'mode', 'imported', 'last used'],
    rows.map((row) => [
      row.id,
      loginText(row),
      row.workspaceId,
      row.mode,
      row.imported ? 'yes' : 'no',
      row.lastUsedAt === null ? 'never' : ago(row.lastUsedAt),
    ]),
  )

export const WORKSPACE = {
  workspace: {
    type: 'string',
    demandOption: true,
    describe: 'The workspace that it sends for, by id or slug',
  },
  mode: { choices: ['live', 'test'], default: 'live', describe: 'Test mail goes to the sandbox' },
} as const
