/**
 * NAME      credential - names and passwords for SMTP, from the command line
 * DESCRIPTION
 *   A password comes from standard input or a file, never from a flag: flags can
 *   be read in the process list.
 */

import { Fault } from '../base/fault.js'
import { removed } from '../record/removed.js'
import { credentialRecord } from '../record/tenants/access.js'
import { createCredential, loginText, revokeCredential } from '../tenant/credential.js'
import { command, type Subject, WHY } from './command.js'
import { readSecretFile, withContext } from './context.js'
import { importAll } from './credential-import.js'
import { credentialTable, WORKSPACE } from './credential-words.js'
import { usage } from './exit.js'
import { listed, MOST } from './rows.js'

const list = command({
  usage: 'list',
  summary: 'All SMTP credentials, newest first; never their passwords',
  options: MOST,
  run: (args, terminal) =>
    withContext(args, async ({ store, account }) => {
      const rows = await listed((page) => store.credentials(account.id, page), args, terminal)
      terminal.data(rows.map(credentialRecord), (paint) => credentialTable(paint, rows))
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

const revoke = command({
  usage: 'revoke <id>',
  summary: 'End a credential, at once and for good',
  positionals: { id: { type: 'string', demandOption: true, describe: 'Its id, cred_…' } },
  options: WHY,
  destroys: true,
  run: (args, terminal) =>
    withContext(args, async ({ store, deps, account }) => {
      const row = await store.credential(args.id)
      if (row === null || row.accountId !== account.id) throw new Fault('credential.not_found')
      const words = `${row.id} (${loginText(row)})`
      if (args.dryRun) return terminal.data(credentialRecord(row), () => `would revoke ${words}`)
      await terminal.confirm(`revoke ${words}`, args.yes)
      await revokeCredential(deps, account.id, row.id)
      terminal.data(removed('credential', row.id), () => `revoked ${row.id}`)
    }),
})

export const credentialSubject: Subject = {
  name: 'credential',
  commands: [list, create, importAll, revoke],
}
