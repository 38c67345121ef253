/**
 * NAME      pepper - the secret under which keys are hashed
 * DESCRIPTION
 *   `show` tells where it comes from and whether it is the one of the database,
 *   by its mark; the pepper itself is never printed. `accept` is for the day it is
 *   lost: the database goes over to the pepper that is there, or to a new one, and
 *   what was hashed or sealed under the old one has to be made again.
 */
import { findPeppers, pepperFile, pepperMark } from '../keys/pepper.js'
import { command, type Subject } from './command.js'
import { configOf, pepperOf, withStore } from './context.js'

const show = command({
  usage: 'show',
  summary: 'Where the pepper comes from, and whether it is the one of the database',
  examples: [['$0 pepper show', '']],
  run: (args, terminal) =>
    withStore(args, async (store, config) => {
      const [found] = findPeppers(config, process.env.CREDENTIALS_DIRECTORY)
      const known = await store.pepperMark()
      const record = {
        file: found?.file ?? null,
        mark: found?.mark ?? null,
        database_mark: known,
        fits: found !== undefined && (known === null || known === found.mark),
      }
      terminal.data(record, (paint) =>
        record.file === null
          ? paint.red(`${pepperFile(config)} is missing`)
          : `${record.file}  ${record.mark}  ${record.fits ? paint.green('fits the database') : paint.red(`the database wants ${known}`)}`,
      )
      return record.fits ? 0 : 78
    }),
})

const accept = command({
  usage: 'accept',
  summary: 'Give the database the pepper that is there now; what the old one made is void',
  destroys: true,
  examples: [['$0 pepper accept', '']],
  run: (args, terminal) =>
    withStore(args, async (store) => {
      const config = configOf(args)
      const what =
        'every API key, long imported SMTP secret, password of an upstream, DKIM key, authenticator app and recovery code in the database is void'
      if (args.dryRun) return terminal.data({ accepted: null }, () => what)
      await terminal.confirm(what, args.yes)
      const mark = pepperMark(pepperOf(config, true))
      await store.setPepperMark(mark)
      terminal.data({ accepted: mark }, () => `the database belongs to pepper ${mark} now`)
      terminal.say(
        'next: systemctl restart postern, then make keys (postern key create) and pools (postern pool update) anew, ' +
          'and take the second factors that are void (postern user reset-factors; postern doctor names them)',
      )
    }),
})

export const pepperSubject: Subject = { name: 'pepper', commands: [show, accept] }
