/**
 * NAME      clock - the order of rows and the time of this machine
 * DESCRIPTION
 *   A clock that is found far ahead is not followed for an hour: rows keep their
 *   order, and their places stay where they were. Who knows that it is right says so.
 */
import { command, type Subject } from './command.js'
import { withContext } from './context.js'
import { spanText } from './time.js'

const confirm = command({
  usage: 'confirm',
  summary: 'Say that the clock is right, although it is far ahead of the last stored row',
  examples: [['$0 clock confirm', '']],
  run: async (args, terminal) => {
    await withContext(args, async ({ store }) => {
      const lead = await store.clockLead(Date.now())
      await store.followClock()
      const record = { ahead_seconds: Math.max(0, Math.round(lead / 1000)) }
      terminal.data(record, () => `confirmed; it was ${spanText(Math.max(0, lead))} ahead`)
    })
  },
})

export const clockSubject: Subject = { name: 'clock', commands: [confirm] }
