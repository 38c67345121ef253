/**
 * NAME      dev - the first five minutes
 */
import { command } from './command.js'
import { Refusal } from './exit.js'

export const devCommand = command({
  usage: 'dev',
  summary: 'Try it: loopback only, mail goes to the built-in sandbox',
  run: async () => {
    throw new Refusal(69, 'dev is not built yet')
  },
})
