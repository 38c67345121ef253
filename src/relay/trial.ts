/**
 * NAME      trial - opening a connection to an upstream, to see what it offers
 *   As the relay does it: resolve, connect, greeting, EHLO, TLS, AUTH. No mail is sent. What fails is told with the
 *   stage at which it failed. A port that says nothing is greeted by TLS beside it, to tell the one common reason.
 */

import { systemClock } from '../base/clock.js'
import type { Dialler } from '../base/dial.js'
import { orElse } from '../base/fault.js'
import { seal, unseal } from '../base/secret.js'
import type { PoolRow, Tenants, UpstreamRow, UpstreamService } from '../store/port/tenants.js'
import { UPSTREAM_SEAL } from '../tenant/pool.js'
import type { TenantDeps } from '../tenant/principal.js'
import type { Offers } from './dialogue/envelope.js'
import { chooseMechanism, createTokens, type UpstreamLogin } from './dialogue/login.js'
import {
  answersTls,
  openSession,
  type Patience,
  SetupFailure,
  type SetupStage,
  type SmtpPeer,
  USE_SMTPS,
} from './dialogue/session.js'
import { openService, type ServiceUrls } from './service/connection.js'
import { RFC_TIMEOUTS } from './settings.js'

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
  /** Mechanisms of AUTH that are offered, as far as it came. */
  readonly mechanisms: readonly string[]
  /** The one that is used, or would be; null without a login, or when none will do. */
  readonly mechanism: string | null
  readonly ms: number
}

const TIMEOUTS = { connect: 10_000, greeting: 20_000, hurried: 1_000 }
const LOOK_MS = 250
const TLS_PROBE_MS = 5_000

const offered = (offers: object): string[] =>
  Object.entries(offers).flatMap(([name, value]) => (value === true ? [name] : []))

const chosen = (offers: Offers, login: UpstreamLogin | null): string | null =>
  orElse(() => (login === null ? null : chooseMechanism(offers.auth, login)), null)

/** What both ends of a trial tell of the offers. */
const offersOf = (offers: Offers | null, login: UpstreamLogin | null) => ({
  dsn: offers?.dsn ?? false,
  offers: offers === null ? [] : offered(offers),
  mechanisms: offers?.auth ?? [],
  mechanism: offers === null ? null : chosen(offers, login),
})

/** Opens it; a port whose silence is that of TLS is told from one that is slow. */
const open = async (target: SmtpPeer, hostname: string) => {
  let waitsForTls = false
  const patience: Patience = {
    hurry: () => waitsForTls,
    slow(stage) {
      if (stage !== 'greeting' || target.tls === 'implicit') return
      void answersTls(target.host, target.port, TLS_PROBE_MS).then((is) => {
        waitsForTls = is
      })
    },
  }
  try {
    return await openSession(target, hostname, TIMEOUTS, patience)
  } catch (error) {
    if (!waitsForTls) throw error
    throw new SetupFailure('greeting', USE_SMTPS, null)
  }
}

interface TrialDeps extends Pick<TenantDeps, 'pepper'> {
  readonly store: Pick<Tenants, 'rotateToken'>
  /** Calls token endpoints. */
  readonly dialler: Dialler
  readonly hostname: string
  readonly endpoints: ServiceUrls
}

/** How it signs in; a token is asked for anew, whatever the relay still has. */
const loginOf = ({ pepper, store, dialler }: TrialDeps, upstream: UpstreamRow): UpstreamLogin | null => {
  const { user, sealedPassword, oauth, authMechanism: mechanism } = upstream
  const open = (sealed: string): string => unseal(pepper, UPSTREAM_SEAL, sealed)
  if (user === null) return null
  if (oauth == null) return { user, secret: sealedPassword === null ? '' : open(sealedPassword), mechanism }
  const secret = createTokens(() => oauth, user, {
    ...{ dialler, now: systemClock.now, tick: systemClock.tick },
    unseal: open,
    seal: (text) => seal(pepper, UPSTREAM_SEAL, text),
    // the relay reads it from there; where it is lost, the next login says so
    rotated: (was, is) => void store.rotateToken(was, is).catch(() => {}),
  })
  return { user, secret, mechanism }
}

/** Connects to a service and asks for nothing, which it has to refuse; what it said of our key, by the TLS that it took. */
const knock = async (
  row: UpstreamRow & { readonly service: UpstreamService },
  login: UpstreamLogin | null,
  endpoints: ServiceUrls,
): Promise<string | null> => {
  const { tick } = systemClock
  const timeouts = { ...RFC_TIMEOUTS, ...TIMEOUTS, dot: TIMEOUTS.greeting }
  const ways = { endpoints, timeouts, tick, mayGo: () => true }
  const connection = await openService(row, { ...row, login }, ways)
  const sweeping = setInterval(() => connection.sweep(tick()), LOOK_MS)
  try {
    await connection.check()
    return connection.tls
  } finally {
    clearInterval(sweeping)
    connection.quit()
  }
}

/** Opens a session with one upstream and closes it again. Never throws. */
export const tryUpstream = async (deps: TrialDeps, pool: PoolRow, upstream: UpstreamRow): Promise<Trial> => {
  const began = performance.now()
  const base = { pool: pool.name, upstream, tls: null, ...offersOf(null, null) }
  const took = (): number => Math.round(performance.now() - began)
  let login: UpstreamLogin | null = null
  try {
    login = loginOf(deps, upstream)
    const { service = null } = upstream
    if (service !== null) {
      const tls = await knock({ ...upstream, service }, login, deps.endpoints)
      const said = `${tls}, the key is good; no delivery reports`
      return { ...base, ok: true, stage: null, said, tls, ms: took() }
    }
    const { line, offers, tls, mechanism: used } = await open({ ...upstream, login }, deps.hostname)
    line.quit()
    const signed = used === null ? '' : `, signed in by ${used}`
    const said = `${tls ?? 'in clear'}${signed}${offers.dsn ? '' : ', no DSN'}`
    return { ...base, ok: true, stage: null, said, tls, ...offersOf(offers, login), ms: took() }
  } catch (error) {
    const failure = error instanceof SetupFailure ? error : null
    const said = error instanceof Error ? error.message : String(error)
    const seen = offersOf(failure?.offers ?? null, login)
    return { ...base, ok: false, stage: failure?.stage ?? 'connect', said, ...seen, ms: took() }
  }
}

/** As the public sees it. */
export const trialRecord = ({ upstream, ok, stage, said, tls, dsn, offers, ...rest }: Trial) => ({
  id: upstream.id,
  service: upstream.service ?? null,
  host: upstream.host,
  port: upstream.port,
  ...{ ok, stage, said, tls, dsn, offers },
  ...{ auth_offered: rest.mechanisms, auth_mechanism: rest.mechanism, ms: rest.ms },
})
