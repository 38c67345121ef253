/**
 * NAME      bounce-door - reports come back
 * DESCRIPTION
 *   Takes mail at signed return paths, from `<>` and from anyone else (some
 *   systems answer with a real sender), without AUTH. An address that we did
 *   not sign is refused at RCPT, before DATA, so there is never anything to
 *   bounce: no backscatter. 250 is said after the report's effect is committed
 *   (RELAY.md G4), else 452: its sender tries again.
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { type Listen, plainListen } from '../base/listen.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import type { BounceIntake } from './ports.js'
import { Refusal } from './reply.js'
import { Room } from './room.js'
import type { Rules } from './rules.js'
import { DoorServer } from './server.js'

export interface BounceDoorOptions extends BounceIntake {
  readonly config: Pick<Config, 'hostname' | 'bounce' | 'limits'>
  readonly clock: Clock
  readonly log: Log
  /** How to get its socket, `bounce`; by default it is bound here. */
  readonly listen?: Listen | undefined
}

export interface BounceDoor extends Service {
  /** Where it really listens; throws before start. */
  readonly address: { readonly host: string; readonly port: number }
}

/** A report may return the whole mail; the reader looks at the first megabyte. */
const LARGEST = 10 * 1024 * 1024
const MOST_RECIPIENTS = 100
const GRACE = 10_000

export const createBounceDoor = (options: BounceDoorOptions): BounceDoor => {
  const { config, clock, log } = options
  let server: DoorServer<never> | null = null
  return {
    name: 'bounce-door',
    get address() {
      if (server === null) throw new Error('the bounce door is closed')
      return server.address
    },
    async start() {
      if (server !== null) return
      const fresh = new DoorServer<never>({
        listen: options.listen ?? plainListen,
        key: 'bounce',
        host: config.bounce.host,
        port: config.bounce.port,
        tls: 'none',
        legacy: false,
        certificate: null,
        connections: config.limits.connections,
        idle: config.limits.idle,
        rules: bounceRules(options),
        clock,
        log,
      })
      await fresh.open()
      server = fresh
    },
    async stop() {
      const open = server
      server = null
      await open?.shut(GRACE)
    },
  }
}

const bounceRules = ({ config, verifyRecipient, ingest, log }: BounceDoorOptions): Rules<never> => ({
  hostname: config.hostname,
  size: LARGEST,
  recipients: MOST_RECIPIENTS,
  room: new Room(4 * LARGEST),
  startTls: false,
  login: 'none',
  mustLogIn: false,
  connected() {},
  authenticate: () => Promise.reject(new Fault('auth.credentials_invalid')),
  mail() {},
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
