/**
 * NAME      bounce-door - reports come back
 * DESCRIPTION
 *   Takes mail at signed return paths, from `<>` and from anyone else (some
 *   systems answer with a real sender), without AUTH. An address that we did
 *   not sign is refused at RCPT, before DATA, so there is never anything to
 *   bounce: no backscatter. 250 is said after the report's effect is committed
 *   (RELAY.md G4), else 452: its sender tries again.
 *   Behind a proxy there is a second listener, on loopback and a free port: the
 *   sandbox reports through the door, too, and stands before no proxy.
 */

import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { Budget } from '../base/host/budget.js'
import { type Listen, plainListen } from '../base/listen.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Config, ListenAddress } from '../config/config.js'
import { Tally } from './admission/tally.js'
import type { BounceIntake } from './ports.js'
import { Refusal } from './reply.js'
import type { Rules } from './rules.js'
import { DoorServer } from './server.js'

export interface BounceDoorOptions extends BounceIntake {
  readonly config: Pick<Config, 'hostname' | 'bounce' | 'limits'>
  readonly clock: Clock
  readonly log: Log
  /** What both doors share; by default this one has all of limits.memory. */
  readonly memory?: Budget
  /** How to get its socket, `bounce`; by default it is bound here. */
  readonly listen?: Listen | undefined
}

export interface BounceDoor extends Service {
  /** Where it really listens; throws before start. */
  readonly address: ListenAddress
  /** Where a program of this machine reaches it without a PROXY header. */
  readonly innerAddress: ListenAddress
}

/** A report may return the whole mail; the reader looks at the first megabyte. */
const LARGEST = 10 * 1024 * 1024
const MOST_RECIPIENTS = 100
const GRACE = 10_000
const INNER = { host: '127.0.0.1', port: 0, proxy_protocol: false, trusted_proxies: [] }

export const createBounceDoor = (options: BounceDoorOptions): BounceDoor => {
  const { config, clock, log } = options
  const { connections, connections_per_address, idle } = config.limits
  let servers: DoorServer<never>[] = []
  const build = (rules: Rules<never>, at: typeof INNER | Config['bounce'], listen: Listen) =>
    new DoorServer<never>({
      host: at.host,
      port: at.port,
      proxy_protocol: at.proxy_protocol,
      trusted_proxies: at.trusted_proxies,
      listen,
      key: 'bounce',
      tls: 'none',
      legacy: false,
      certificate: null,
      connections,
      idle,
      addresses: new Tally(connections_per_address),
      isExempt: async () => false,
      rules,
      clock,
      log,
    })
  const addressOf = (server: DoorServer<never> | undefined): ListenAddress => {
    if (server === undefined) throw new Error('the bounce door is closed')
    return server.address
  }
  return {
    name: 'bounce-door',
    get address() {
      return addressOf(servers[0])
    },
    get innerAddress() {
      return addressOf(servers.at(-1))
    },
    async start() {
      if (servers.length > 0) return
      const rules = bounceRules(options)
      const fresh = [build(rules, config.bounce, options.listen ?? plainListen)]
      if (config.bounce.proxy_protocol) fresh.push(build(rules, INNER, plainListen))
      for (const server of fresh) {
        await server.open()
        servers.push(server)
      }
    },
    async stop() {
      const open = servers
      servers = []
      await Promise.all(open.map((server) => server.shut(GRACE)))
    },
  }
}

const bounceRules = ({ config, memory, verifyRecipient, ingest, log }: BounceDoorOptions): Rules<never> => ({
  hostname: config.hostname,
  size: LARGEST,
  recipients: MOST_RECIPIENTS,
  memory: memory ?? new Budget(config.limits.memory),
  startTls: false,
  login: 'none',
  mustLogIn: false,
  connected() {},
  authenticate: () => Promise.reject(new Fault('auth.credentials_invalid')),
  mail() {},
  left() {},
  async recipient({ address }) {
    if (!(await verifyRecipient(address))) throw new Refusal('550 5.1.1 No such return path')
  },
  async message({ recipients }, raw) {
    try {
      for (const { address } of recipients) await ingest(address, raw)
    } catch (error) {
      if (error instanceof Fault) throw error
      log.error({ event: 'bounce_not_kept', err: error })
      throw new Fault('service.unavailable', { detail: 'Not kept, try again later' })
    }
    return '250 2.6.0 Ok: report taken'
  },
})
