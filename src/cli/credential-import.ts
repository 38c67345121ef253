/**
 * NAME      credential-import - names and secrets that clients already have
 * DESCRIPTION
 *   Moving in changes only the host name of a client. A bad line is told with its
 *   number and skipped, the others are stored. ^C leaves what was stored, and the
 *   same file can be given again: what is there is left as it is.
 */

import { readCsvLines } from '../record/csv.js'
import { credentialRecord } from '../record/tenants/access.js'
import { type Imported, type ImportLine, importCredentials } from '../tenant/credential/import.js'
import { command } from './command.js'
import { asOneOrder, withContext } from './context.js'
import { credentialTable, WORKSPACE } from './credential-words.js'
import { tellProgress, withInterrupt } from './terminal.js'

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

export const importAll = command({
  usage: 'import <file>',
  summary: 'Take over existing SMTP names and secrets (CSV: username,secret; - is standard input)',
  positionals: {
    file: { type: 'string', demandOption: true, describe: 'CSV file, or - for standard input' },
  },
  options: WORKSPACE,
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
