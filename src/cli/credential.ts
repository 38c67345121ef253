/**
 * NAME      credential - names and passwords for the SMTP door
 *   A password comes from standard input or a file, never from a flag: flags can be read in the process list.
 *   `import` takes names and secrets that clients already have: moving in changes only the host name of a client. A bad line is
 *   told with its number and skipped, the others are stored. ^C leaves what was stored, and the same file can be given again:
 *   what is there is left as it is.
 */

import { Fault } from '../base/fault.js'
import { readCsvLines } from '../record/csv.js'
import { removed } from '../resource/member.js'
import { credentialRecord } from '../resource/tenants.js'
import type { CredentialRow } from '../store/port/tenants.js'
import {
  createCredential,
  type Imported,
  type ImportLine,
  importCredentials,
  loginText,
  revokeCredential,
} from '../tenant/credential.js'
import { command, type Subject, WHY } from './command.js'
import { asOneOrder, readSecretFile, storeCommand, withContext } from './context.js'
import { usage } from './exit.js'
import { agreed, listing } from './list.js'
import { AGO, type Columns, tableOf } from './table.js'
import { tellProgress, withInterrupt } from './terminal.js'

const COLUMNS: Columns<CredentialRow> = [
  ['id', 'id'],
  ['login', loginText],
  ['workspace', 'workspaceId'],
  ['mode', 'mode'],
  ['imported', ({ imported }) => (imported ? 'yes' : 'no')],
  ['last used', 'lastUsedAt', AGO],
  ['from', 'lastUsedFrom'],
]

const credentialTable = tableOf(COLUMNS)

export const WORKSPACE = {
  workspace: {
    type: 'string',
    demandOption: true,
    describe: 'The workspace that it sends for, by id or slug',
  },
  mode: { choices: ['live', 'test'], default: 'live', describe: 'Test mail goes to the sandbox' },
} as const

/** `name,secret` or `name:secret` per line; a header line of CSV is skipped. */
const readLines = (text: string): readonly ImportLine[] =>
  readCsvLines(text.includes(',') ? text : text.replace(/^([^:\n]+):/gm, '$1,'))
    .map(({ line, fields: [username = '', password = ''] }) => ({ at: line, username, password }))
    .filter(
      ({ username, password }) =>
        !/^(user(name)?|name|login)$/i.test(username) || !/^(pass(word)?|secret)$/i.test(password),
    )

const summary = ({ rows, there, wrong }: Imported, read: number): string =>
  [
    `${rows.length} of ${read} imported`,
    ...(there > 0 ? [`${there} there already and left as they are`] : []),
    ...(wrong > 0 ? [`${wrong} bad`] : []),
  ].join(', ')

const importAll = command({
  usage: 'import <file>',
  summary: 'Take over existing SMTP names and secrets (CSV: username,secret; - is standard input)',
  positionals: {
    file: { type: 'string', demandOption: true, describe: 'CSV file, or - for standard input' },
  },
  options: WORKSPACE,
  examples: [['$0 credential import users.csv --workspace default', '']],
  run: async (args, terminal) => {
    const lines = readLines(String(await terminal.readInput(args.file)))
    return withContext(args, async (context) => {
      const { deps, account } = asOneOrder(context)
      const progress = tellProgress(terminal, lines.length)
      const done = await withInterrupt((signal) =>
        importCredentials(deps, account.id, {
          ...{
            workspace: args.workspace,
            mode: args.mode === 'test' ? 'test' : 'live',
            lines,
            signal,
            progress,
          },
          // what stands alone in a line may be the secret
          skipped: ({ at, username, password }, why) =>
            terminal.say(`line ${at}: skipped${password === '' ? '' : ` ${username}`}: ${why}`),
        }),
      )
      terminal.data(done.rows.map(credentialRecord), (paint) => credentialTable(paint, done.rows))
      terminal.say(summary(done, lines.length))
      if (done.isWhole) return done.wrong > 0 ? 65 : 0
      terminal.say('interrupted: what was imported stays; give the same file again for the rest')
      return 75
    })
  },
})

const list = listing({
  path: 'credential list',
  summary: 'All SMTP credentials, newest first; never their passwords',
  examples: [['$0 credential list', '']],
  what: 'credentials',
  next: 'postern credential create --workspace default --username NAME',
  rows:
    ({ store, account }) =>
    (page) =>
      store.credentials(account.id, page),
  record: credentialRecord,
  isManaged: true,
  columns: COLUMNS,
})

const create = command({
  usage: 'create',
  summary: 'Let a user name with a password, an address range, or a client certificate send',
  options: {
    ...WORKSPACE,
    username: { type: 'string', describe: 'User name; its password is read from standard input' },
    'password-file': { type: 'string', describe: 'Read the password from this file instead' },
    cidr: { type: 'string', describe: 'An address range that needs no password, such as 192.168.7.0/24' },
    'certificate-fingerprint': {
      type: 'string',
      describe:
        'SHA-256 of a client certificate that stands for a login (openssl x509 -noout -fingerprint -sha256)',
    },
  },
  examples: [
    ['$0 credential create --workspace default --username printer < secret', 'a name and a password'],
    ['$0 credential create --workspace default --cidr 127.0.0.0/8', 'cron and scripts on this machine'],
  ],
  run: async (args, terminal) => {
    const { username, cidr, certificateFingerprint } = args
    if ([username, cidr, certificateFingerprint].filter((one) => one !== undefined).length !== 1) {
      throw usage(
        'credential create needs one of --username U, --cidr RANGE, --certificate-fingerprint SHA256',
      )
    }
    const secret = async (): Promise<string> =>
      args.passwordFile === undefined
        ? terminal.readSecret(`password of ${username}: `)
        : (await readSecretFile(args.passwordFile)).replace(/\r?\n$/, '')
    const password = username === undefined ? null : await secret()
    await withContext(args, async ({ deps, account }) => {
      const row = await createCredential(deps, account.id, {
        workspace: args.workspace,
        mode: args.mode,
        username: username ?? null,
        password,
        cidr: cidr ?? null,
        certificateFingerprint: certificateFingerprint ?? null,
      })
      terminal.data(credentialRecord(row), (paint) => credentialTable(paint, [row]))
      if (username === undefined) {
        const setting = cidr === undefined ? 'client_certificates' : 'ip_credentials'
        terminal.say(`it works on submission listeners that have ${setting}: true in the configuration`)
      }
    })
  },
})

const revoke = storeCommand({
  usage: 'revoke <id>',
  summary: 'End a credential, at once and for good',
  positionals: { id: { type: 'string', demandOption: true, describe: 'Its id, cred_…' } },
  options: WHY,
  destroys: true,
  examples: [['$0 credential revoke cred_01… --yes', '']],
  run: async ({ store, deps, account }, args, terminal) => {
    const row = await store.credential(args.id)
    if (row === null || row.accountId !== account.id) throw new Fault('credential.not_found')
    const what = `revoke ${row.id} (${loginText(row)})`
    if (!(await agreed({ store, account }, terminal, args, credentialRecord(row), what))) return
    await revokeCredential(deps, account.id, row.id)
    terminal.data(removed('credential', row.id), () => `revoked ${row.id}`)
  },
})

export const credentialSubject: Subject = {
  name: 'credential',
  commands: [list, create, importAll, revoke],
}
