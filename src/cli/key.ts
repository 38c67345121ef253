/**
 * NAME      key - API keys, from the command line
 *   The secret of a new key is the only thing on stdout, so that a script can
 *   take it (`KEY=$(postern key create ...)`); what is said about it goes to stderr.
 */

import { timeOrNull } from '../base/clock.js'
import { orFault } from '../base/fault.js'
import { parseDuration } from '../config/forms.js'
import { removed } from '../resource/member.js'
import {
  createdKeyRecord,
  keyPrefix,
  keyRecord,
  rotatedKeyRecord,
  sesAccessKey,
  sesVariables,
} from '../resource/tenants.js'
import type { KeyPermission } from '../store/port/tenants.js'
import { createKey, MOST_OVERLAP_MS, newKeyText, revokeKey, rotateKey } from '../tenant/key.js'
import { command, type Subject, WHY } from './command.js'
import { storeCommand, withContext } from './context.js'
import { badInput, usage } from './exit.js'
import { agreed, listing, tellRecord } from './list.js'
import { AGO, EXPIRES, readInstant } from './table.js'

const MAY: Readonly<Record<KeyPermission, string>> = {
  full_access: 'all',
  sending_access: 'send',
  reading_access: 'read',
}

const permissionIn = (args: {
  readonly sendOnly: boolean | undefined
  readonly readOnly: boolean | undefined
}): KeyPermission =>
  args.sendOnly === true ? 'sending_access' : args.readOnly === true ? 'reading_access' : 'full_access'

const list = listing({
  path: 'key list',
  summary: 'All keys, newest first; never their secrets',
  examples: [['$0 key list --csv > keys.csv', 'for a spreadsheet']],
  what: 'keys',
  next: 'postern key create --workspace default',
  rows:
    ({ store, account }) =>
    (page) =>
      store.keys(account.id, page),
  record: keyRecord,
  isManaged: true,
  columns: [
    ['id', 'id'],
    ['name', 'name'],
    ['prefix', keyPrefix],
    ['scope', 'scope'],
    ['workspace', 'workspaceId'],
    ['may', ({ permission }) => MAY[permission]],
    ['ses', sesAccessKey],
    ['last used', 'lastUsedAt', AGO],
    ['from', 'lastUsedFrom'],
    ['expires', 'expiresAt', EXPIRES],
  ],
})

/** The secret alone; of a key for clients of SES, the variables that they read. */
const secretsIn = ({ row, secret, sesSecret }: Awaited<ReturnType<typeof createKey>>): string =>
  sesSecret === null ? secret : `POSTERN_KEY=${secret}\n${sesVariables(row, sesSecret)}`

const create = command({
  usage: 'create',
  summary: 'Make a key; its secret is printed once',
  options: {
    workspace: { type: 'string', describe: 'The workspace that it sends for, by id or slug' },
    platform: { type: 'boolean', describe: 'A key for every workspace of the account' },
    mode: { choices: ['live', 'test'], default: 'live', describe: 'Mail of test keys goes to the sandbox' },
    name: { type: 'string', default: 'cli', describe: 'What it is for' },
    'send-only': { type: 'boolean', describe: 'It sends mail, and reads and changes nothing' },
    'read-only': { type: 'boolean', describe: 'It reads, and sends and changes nothing' },
    ses: { type: 'boolean', describe: 'Also an access key, for clients of Amazon SES' },
    'rate-limit': { type: 'number', describe: 'Sends per minute, instead of the configured limit' },
    expires: { type: 'string', describe: 'When it ends: 90d, or 2027-01-31T00:00:00Z' },
  },
  examples: [
    ['KEY=$(postern key create --workspace default)', 'keep the secret in a variable'],
    [
      '(umask 077; $0 key create --workspace default --ses > ses.env)',
      'three variables, for a client of SES',
    ],
  ],
  run: async (args, terminal) => {
    if ((args.workspace === undefined) === (args.platform !== true)) {
      throw usage('key create needs either --workspace W or --platform')
    }
    if (args.sendOnly && args.readOnly) throw usage('either --send-only or --read-only')
    const expiresAt = args.expires === undefined ? null : readInstant(args.expires)
    if (Number.isNaN(expiresAt))
      throw badInput(`--expires: ${args.expires} is neither 90d nor an RFC 3339 time`)
    await withContext(args, async ({ deps, account }) => {
      const made = await createKey(deps, account.id, {
        name: args.name,
        mode: args.mode as 'live' | 'test',
        scope: args.platform === true ? 'platform' : 'workspace',
        workspace: args.workspace ?? null,
        expiresAt,
        rateLimitPerMinute: args.rateLimit ?? null,
        permission: permissionIn(args),
        ses: args.ses,
      })
      const { row } = made
      terminal.data(createdKeyRecord(made), () => secretsIn(made))
      terminal.say(`${row.id}: a ${row.mode} key, shown this once; keep it where only its user can read it`)
    })
  },
})

const secret = command({
  usage: 'secret',
  summary: 'Print the text of a key that is not stored: a file of it goes to postern apply',
  options: {
    mode: { choices: ['live', 'test'], default: 'live', describe: 'Mail of test keys goes to the sandbox' },
  },
  examples: [['(umask 077; $0 key secret > web.key)', 'then in a setup: secret_file: web.key']],
  run: async (args, terminal) => {
    const text = newKeyText(args.mode === 'test' ? 'test' : 'live')
    terminal.data({ object: 'api_key_secret', key: text }, () => text)
  },
})

const rotate = command({
  usage: 'rotate <id>',
  summary: 'Make the next key of the same rights; the one so far ends after the overlap',
  positionals: { id: { type: 'string', demandOption: true, describe: 'Its id, key_…' } },
  options: {
    ...WHY,
    overlap: { type: 'string', default: '24h', describe: 'How long both work: 0 to 30d' },
  },
  examples: [
    ['KEY=$(postern key rotate key_01… --overlap 48h)', 'two days to bring the next one to its programs'],
  ],
  run: async (args, terminal) => {
    const ms = parseDuration(args.overlap)
    if (ms === null || ms > MOST_OVERLAP_MS)
      throw usage(`--overlap: ${args.overlap} is no time from 0 to 30d`)
    await withContext(args, async ({ store, deps, account }) => {
      const made = await rotateKey(deps, account.id, args.id, ms)
      const { row, before } = made
      await tellRecord({ store, account }, terminal, rotatedKeyRecord(made), () => secretsIn(made))
      terminal.say(
        `${row.id}: its secret is shown this once; ${before.id} ends ${timeOrNull(before.expiresAt)}`,
      )
    })
  },
})

const revoke = storeCommand({
  usage: 'revoke <id>',
  summary: 'End a key, at once and for good',
  positionals: { id: { type: 'string', demandOption: true, describe: 'Its id, key_…' } },
  options: WHY,
  destroys: true,
  examples: [['$0 key revoke key_01… --reason "it leaked" --yes', '']],
  run: async ({ store, deps, account }, args, terminal) => {
    const row = orFault(await store.key(account.id, args.id), 'api_key.not_found')
    const what = `revoke ${row.id} (${row.name})`
    if (!(await agreed({ store, account }, terminal, args, keyRecord(row), what))) return
    await revokeKey(deps, account.id, args.id)
    terminal.data(removed('api_key', args.id), () => `revoked ${args.id}`)
  },
})

export const keySubject: Subject = {
  name: 'key',
  commands: [list, create, secret, rotate, revoke],
}
