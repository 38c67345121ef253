/**
 * NAME      session - a credential for administration over the API
 * DESCRIPTION
 *   A session acts for the whole account and is the only credential that may
 *   make API keys. Who can read the data folder may have one; its token alone
 *   goes to stdout.
 */
import { toRfc3339 } from '../base/clock.js'
import { createSession } from '../tenant/session.js'
import { command, type Subject } from './command.js'
import { withHouse } from './context.js'
import { badInput } from './exit.js'
import { readSpan, spanText } from './time.js'

const create = command({
  usage: 'create',
  summary: 'Open a session of nobody in particular; its token is printed once',
  options: { lasts: { type: 'string', default: '12h', describe: 'For how long, such as 30m or 12h' } },
  examples: [['TOKEN=$(postern session create --lasts 30m)', 'for scripts that manage keys over the API']],
  run: async (args, terminal) => {
    const lastsMs = readSpan(args.lasts)
    if (Number.isNaN(lastsMs) || lastsMs <= 0)
      throw badInput(`--lasts: ${args.lasts} is no span such as 30m or 12h`)
    await withHouse(args, async ({ ground, account }) => {
      const { row, token } = await createSession(ground, account.id, { lastsMs })
      const record = {
        id: row.id,
        object: 'session',
        token,
        created_at: toRfc3339(row.createdAt),
        expires_at: toRfc3339(row.expiresAt),
      }
      terminal.data(record, () => token)
      terminal.say(`${row.id}: shown this once, good for ${spanText(lastsMs)}`)
    })
  },
})

export const sessionSubject: Subject = { name: 'session', commands: [create] }
