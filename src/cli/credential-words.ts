/**
 * NAME      credential-words - what the commands about SMTP credentials share
 */
import type { CredentialRow } from '../store/port/tenants/tenants.js'
import { loginText } from '../tenant/credential.js'
import { tableOf } from './terminal.js'
import { ago } from './time.js'

export const credentialTable = tableOf<CredentialRow>([
  ['id', 'id'],
  ['login', loginText],
  ['workspace', 'workspaceId'],
  ['mode', 'mode'],
  ['imported', ({ imported }) => (imported ? 'yes' : 'no')],
  ['last used', ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : ago(lastUsedAt))],
  ['from', 'lastUsedFrom'],
])

export const WORKSPACE = {
  workspace: {
    type: 'string',
    demandOption: true,
    describe: 'The workspace that it sends for, by id or slug',
  },
  mode: { choices: ['live', 'test'], default: 'live', describe: 'Test mail goes to the sandbox' },
} as const
