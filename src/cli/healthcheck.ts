/**
 * NAME      healthcheck - whether the daemon of this machine lives, for what watches a container
 *   Asks the management listener where the daemon has noted it, and ends with 0 or 1 and one line of why: the codes that a
 *   HEALTHCHECK knows. A daemon that lives may still be starting or draining; --ready asks whether it takes work.
 */
import { request } from 'node:http'
import type { ListenAddress } from '../config/config.js'
import { command } from './command.js'
import { configOf } from './context.js'
import { managementOf, reachable } from './listening.js'

/** One GET of the management listener. */
export const askManagement = (
  { host, port }: ListenAddress,
  path: string,
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const asked = request(`http://${reachable(host)}:${port}${path}`, { timeout: 5_000 }, async (answer) => {
      let text = ''
      for await (const chunk of answer) text += chunk
      resolve({ status: answer.statusCode ?? 0, text })
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.on('error', reject)
    asked.end()
  })

/** What is wrong; null when nothing is. */
const complaint = async (at: ListenAddress, isAskedReady: boolean): Promise<string | null> => {
  try {
    const { status, text } = await askManagement(at, isAskedReady ? '/readyz' : '/livez')
    if (status === 200) return null
    const { reasons = [] } = JSON.parse(text) as { reasons?: readonly string[] }
    return `the daemon is not ${isAskedReady ? 'ready' : 'well'}: ${reasons.join(', ') || `it answers ${status}`}`
  } catch (error) {
    return `the daemon does not answer at ${reachable(at.host)}:${at.port}: ${(error as Error).message}`
  }
}

export const healthcheckCommand = command({
  usage: 'healthcheck',
  summary: 'Whether the daemon of this machine lives: 0 or 1, and one line',
  options: { ready: { type: 'boolean', describe: 'Whether it takes work: as /readyz, not /livez' } },
  examples: [
    ['$0 healthcheck', 'for the HEALTHCHECK of a container'],
    ['$0 healthcheck --ready', 'before a balancer sends it work'],
  ],
  run: async (args, terminal) => {
    const config = configOf(args)
    const at = await managementOf(config)
    const isAskedReady = args.ready === true
    const wrong = at === null ? `no daemon runs on ${config.data_dir}` : await complaint(at, isAskedReady)
    const says = wrong ?? `the daemon is ${isAskedReady ? 'ready' : 'alive'}`
    terminal.data({ healthy: wrong === null, says }, () => says)
    return wrong === null ? 0 : 1
  },
})
