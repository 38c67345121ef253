/**
 * NAME      serve - run the daemon
 */
import { command } from './command.js'
import { Refusal } from './exit.js'

export const serveCommand = command({
  usage: 'serve',
  summary: 'Run the daemon',
  run: async () => {
    throw new Refusal(69, 'serve is not built yet')
  },
})
