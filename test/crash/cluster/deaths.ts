/** A daemon ends, stands still or is cut off, wherever it is by then. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WAYS, type Way } from '../../parts/database-proxy.js'
import { eventually } from '../../parts/eventually.js'
import type { Daemon } from './daemon.js'
import type { Fault } from './fault.js'
import type { Fleet } from './fleet.js'
import { asleep, endsTakenOver, takenOver } from './takeover.js'

/** What it had leased is free once it listens, and does not wait for anybody to take it over. */
const RECOVERY_MS = 3_000

/** It starts on the folder where it died. */
const startsAgain = async (fleet: Fleet, daemon: Daemon, boots: string): Promise<string[]> => {
  const began = performance.now()
  await daemon.start()
  const listening = performance.now()
  const before = fleet.delay.ms
  fleet.slowestStartMs = Math.max(fleet.slowestStartMs, Math.round(listening - began))
  const leased = () => fleet.sql(`SELECT count(*) FROM queue WHERE boot IN (${boots})`)[0] === '0'
  await eventually('what it had leased is free', leased, { every: 100 })
  const ms = Math.round(performance.now() - listening)
  fleet.slowestRecoveryMs = Math.max(fleet.slowestRecoveryMs, ms)
  return ms > RECOVERY_MS + fleet.delay.ms - before
    ? [`leases of daemon ${daemon.name} were free ${ms} ms after it listened`]
    : []
}

const killed = async (fleet: Fleet, daemon: Daemon): Promise<string> => {
  const boots = fleet.writersOf(daemon).map(({ boot }) => boot)
  const at = performance.now()
  await daemon.kill()
  fleet.died(daemon, at)
  return boots.join(', ')
}

const kill: Fault['run'] = async (fleet) => {
  const daemon = fleet.any()
  return startsAgain(fleet, daemon, await killed(fleet, daemon))
}

const gone: Fault['run'] = async (fleet) => {
  const daemon = fleet.any()
  await daemon.kill()
  const { late, since } = await takenOver(fleet, daemon)
  fleet.died(daemon, since)
  await daemon.start()
  return late
}

/** It has neither its database nor, some seconds later, its upstream. */
const partition: Fault['run'] = async (fleet) => {
  const daemon = fleet.any()
  daemon.proxy.leave()
  const taking = takenOver(fleet, daemon)
  await sleep(fleet.random() * 15_000) // anywhere in its promise
  fleet.mx.refuse(daemon.name)
  const taken = await taking
  await sleep(5_000) // the others use its part of the upstream
  fleet.mx.refuse(null)
  daemon.proxy.return()
  return endsTakenOver(fleet, daemon, taken)
}

const CALLERS = 50

/** Equal mails with one key, at once and everywhere, are one, wherever somebody dies. */
const keyed: Fault['run'] = async (fleet) => {
  const victim = fleet.any()
  const token = `key-${fleet.random()}`
  const to = `${token}@sink.test`
  const mail = { from: 'load@gw.test', to, subject: 'crash 1', text: 'x' }
  const boots = fleet.writersOf(victim).map(({ boot }) => boot)
  const ids = new Set<string>()
  const others: number[] = []
  const call = async (i: number): Promise<boolean> => {
    const { postern } = fleet.daemons[i % fleet.daemons.length] as Daemon
    const headers = { 'idempotency-key': token }
    const key = fleet.keys.default ?? ''
    const answer = await postern.api('POST', '/v1/emails', key, mail, headers).catch(() => null)
    if (answer?.status === 202) ids.add(answer.body.id)
    // 409: another call with the key is under way; 503: who dies says so
    else if (answer !== null && answer.status !== 409 && answer.status !== 503) others.push(answer.status)
    return answer !== null && answer.status !== 409 && answer.status !== 503
  }
  let at = 0
  victim.proxy.armed(WAYS[fleet.below(WAYS.length)] as Way, fleet.below(24), () => {
    at = performance.now()
    victim.signal('SIGKILL')
  })
  // a claim is held for a minute when who made it died
  const callers = Array.from({ length: CALLERS }, (_, i) =>
    eventually('a mail with a key is answered', () => call(i), { ms: 120_000, every: 100 }),
  )
  await eventually('a daemon dies', () => victim.end !== undefined)
  fleet.died(victim, at)
  const found = await startsAgain(fleet, victim, boots.join(', '))
  await Promise.all(callers)
  fleet.extra.default.push(...ids)
  const [stored = ''] = fleet.sql(`SELECT count(*) FROM recipient_rows WHERE address_lc = '${to}'`)
  return [
    ...found,
    ...(ids.size === 1 ? [] : [`${CALLERS} equal mails with one key made ${ids.size}`]),
    ...(stored === '1' ? [] : [`${stored} mails with one key are stored`]),
    ...(others.length === 0 ? [] : [`a mail with a key was answered ${others}`]),
  ]
}

export const DEATHS: readonly Fault[] = [
  { name: 'kill', says: 'a daemon is killed and starts again', run: kill },
  { name: 'gone', says: 'a daemon is killed and stays away until it is taken over', run: gone },
  {
    name: 'asleep',
    says: 'a daemon is stopped, is taken over, and goes on',
    leavesIdle: true,
    run: (fleet) => asleep(fleet, fleet.any()),
  },
  { name: 'partition', says: 'a daemon is cut off from the database until it is taken over', run: partition },
  { name: 'keyed', says: 'a daemon is killed in the middle of equal mails with one key', run: keyed },
]
