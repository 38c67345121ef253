/**
 * NAME      trial - opening a connection to an upstream, to see what it offers
 * DESCRIPTION
 *   As the relay does it: resolve, connect, greeting, EHLO, TLS, AUTH. No mail is sent. What fails is told with the
 *   stage at which it failed.
 */
import { unseal } from '../../base/secret.js'
import type { PoolRow, UpstreamRow } from '../../store/port-tenants.js'
import { UPSTREAM_SEAL } from '../../tenant/pool.js'
import type { TenantGround } from '../../tenant/principal.js'
import { openSession, SetupFailure, type SetupStage } from './session.js'

export interface Trial {
  readonly pool: string
  readonly upstream: UpstreamRow
  readonly ok: boolean
  readonly stage: SetupStage | null
  /** What failed, or what is offered. */
  readonly said: string
  readonly tls: string | null
  readonly dsn: boolean
  readonly offers: readonly string[]
  readonly ms: number
}

const TIMEOUTS = { connect: 10_000, greeting: 20_000, hurried: 20_000 }

const offered = (offers: object): string[] =>
  Object.entries(offers).flatMap(([name, value]) => (value === true ? [name] : []))

/** Opens a session with one upstream and closes it again. Never throws. */
export const tryUpstream = async (
  { pepper }: Pick<TenantGround, 'pepper'>,
  hostname: string,
  pool: PoolRow,
  upstream: UpstreamRow,
): Promise<Trial> => {
  const began = performance.now()
  const base = { pool: pool.name, upstream, tls: null, dsn: false, offers: [] }
  const took = (): number => Math.round(performance.now() - began)
  try {
    const { user, sealedPassword } = upstream
    const password = sealedPassword === null ? '' : unseal(pepper, UPSTREAM_SEAL, sealedPassword)
    const login = user === null ? null : { user, password }
    const { socket, offers, tls } = await openSession({ ...upstream, login }, hostname, TIMEOUTS)
    socket.end('QUIT\r\n')
    socket.destroySoon()
    const said = `${tls ?? 'in clear'}${login === null ? '' : ', signed in'}${offers.dsn ? '' : ', no DSN'}`
    return { ...base, ok: true, stage: null, said, tls, dsn: offers.dsn, offers: offered(offers), ms: took() }
  } catch (error) {
    const stage = error instanceof SetupFailure ? error.stage : 'connect'
    const said = error instanceof Error ? error.message : String(error)
    return { ...base, ok: false, stage, said, ms: took() }
  }
}

/** As the public sees it. */
export const trialRecord = ({ upstream, ok, stage, said, tls, dsn, offers, ms }: Trial) => ({
  id: upstream.id,
  host: upstream.host,
  port: upstream.port,
  ...{ ok, stage, said, tls, dsn, offers, ms },
})
