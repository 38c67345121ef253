/**
 * NAME      credential - names and passwords for SMTP, from the command line
 * DESCRIPTION
 *   A password comes from standard input or a file, never from a flag: flags can
 *   be read in the process list. `import` takes the names and secrets that
 *   clients already have, so that moving in changes only their host name.
 */

import { Fault } from '../base/fault.js'
import { credential as credentialRecord } from '../http/render.js'
import { readCsv } from '../record/csv.js'
import { removed } from '../record/removed.js'
import type { CredentialRow } from '../store/port-tenants.js'
import { createCredential, loginText, revokeCredential } from '../tenant/credential.js'
import { command, type Subject } from './command.js'
import { asOneOrder, readSecretFile, withHouse } from './context.js'
import { badInput, usage } from './exit.js'
import { collect } from './rows.js'
import { type Paint, table } from './terminal.js'
import { ago } from './time.js'

const rowsTable = (paint: Paint, rows: readonly CredentialRow[]): string =>
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

const WORKSPACE = {
  workspace: {
    type: 'string',
    demandOption: true,
    describe: 'The workspace that it sends for, by id or slug',
  },
  mode: { choices: ['live', 'test'], default: 'live', describe: 'Test mail goes to the sandbox' },
} as const

const list = command({
  usage: 'list',
  summary: 'All SMTP credentials, newest first; never their passwords',
  run: (args, terminal) =>
    withHouse(args, async ({ store, account }) => {
      const rows = await collect((page) => store.credentials(account.id, page))
      terminal.data(rows.map(credentialRecord), (paint) => rowsTable(paint, rows))
    }),
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
    await withHouse(args, async ({ ground, account }) => {
      const row = await createCredential(ground, account.id, {
        workspace: args.workspace,
        mode: args.mode,
        username: username ?? null,
        password,
        cidr: cidr ?? null,
        certificateFingerprint: certificateFingerprint ?? null,
      })
      terminal.data(credentialRecord(row), (paint) => rowsTable(paint, [row]))
      if (username === undefined) {
        const setting = cidr === undefined ? 'client_certificates' : 'ip_credentials'
        terminal.say(`it works on submission listeners that have ${setting}: true in the configuration`)
      }
    })
  },
})

/** `name,secret` or `name:secret` per line; a header line of CSV is skipped. */
const readPairs = (text: string): readonly (readonly [string, string])[] =>
  readCsv(text.includes(',') ? text : text.replace(/^([^:\n]+):/gm, '$1,'))
    .filter(
      ([name, secret]) =>
        !/^(user(name)?|name|login)$/i.test(name ?? '') || !/^(pass(word)?|secret)$/i.test(secret ?? ''),
    )
    .map(([name = '', secret = ''], i) => {
      if (name === '' || secret === '') throw badInput(`line ${i + 1}: expected a user name and a secret`)
      return [name, secret] as const
    })

const importAll = command({
  usage: 'import <file>',
  summary: 'Take over existing SMTP names and secrets (CSV: username,secret; - is standard input)',
  positionals: {
    file: { type: 'string', demandOption: true, describe: 'CSV file, or - for standard input' },
  },
  options: WORKSPACE,
  run: async (args, terminal) => {
    const pairs = readPairs(String(await terminal.readInput(args.file)))
    await withHouse(args, async (house) => {
      const { ground, account } = asOneOrder(house)
      const rows: CredentialRow[] = []
      for (const [username, password] of pairs) {
        try {
          const wish = { workspace: args.workspace, mode: args.mode, username, password, imported: true }
          rows.push(await createCredential(ground, account.id, wish))
        } catch (error) {
          if (!(error instanceof Fault) || error.code === 'workspace.not_found') throw error
          terminal.say(`skipped ${username}: ${error.options.errors?.[0]?.message ?? error.message}`)
        }
      }
      terminal.data(rows.map(credentialRecord), (paint) => rowsTable(paint, rows))
      terminal.say(`${rows.length} of ${pairs.length} imported`)
    })
  },
})

const revoke = command({
  usage: 'revoke <id>',
  summary: 'End a credential, at once and for good',
  positionals: { id: { type: 'string', demandOption: true, describe: 'Its id, cred_…' } },
  destroys: true,
  run: (args, terminal) =>
    withHouse(args, async ({ store, ground, account }) => {
      const row = await store.credential(args.id)
      if (row === null || row.accountId !== account.id) throw new Fault('credential.not_found')
      const words = `${row.id} (${loginText(row)})`
      if (args.dryRun) return terminal.data(credentialRecord(row), () => `would revoke ${words}`)
      await terminal.confirm(`revoke ${words}`, args.yes)
      await revokeCredential(ground, account.id, row.id)
      terminal.data(removed('credential', row.id), () => `revoked ${row.id}`)
    }),
})

export const credentialSubject: Subject = {
  name: 'credential',
  commands: [list, create, importAll, revoke],
}
