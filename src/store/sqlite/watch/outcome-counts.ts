/**
 * NAME      outcome-counts - how much an upstream had to say about a domain
 * DESCRIPTION
 *   What hard bounces are a share of: recipients of live mail that were taken or refused, and those
 *   deferred at their first attempt, by upstream and domain. Kept in the memory of the writer, since every mail
 *   passes here: by minute for the last ten, and by hour for a day, because a report is
 *   measured against the time at which its mail was taken. What was before the start is read back from the
 *   log when somebody first asks, and no more of it than READ_BACK.
 * NOTES
 *   A rollback leaves a count too high by its batch, which hides nothing for long.
 */

import type { Outcome } from '../../../lifecycle/facts.js'
import { INCIDENT_WINDOW_MS } from '../../../lifecycle/incident.js'
import { storedDomain } from '../../../mail/address.js'
import { isAnswer } from '../../rules/bounces.js'
import { kindOf } from '../../sql/log/codec.js'
import { ordAt } from '../../sql/order/ord.js'
import type { Db } from '../connect.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const HOURS = 24
const MINUTES = INCIDENT_WINDOW_MS / MINUTE
const MOST_KEYS = 20_000
/** Such few can be no share that matters. */
const FEW = 20
const READ_BACK = 100_000

interface Counts {
  /** The minute up to which `minutes`, a ring, is filled. */
  minute: number
  readonly minutes: number[]
  /** Rising. */
  hours: { readonly hour: number; n: number }[]
}

const fresh = (minute: number): Counts => ({ minute, minutes: new Array(MINUTES).fill(0), hours: [] })

const advance = (counts: Counts, minute: number): void => {
  const by = minute - counts.minute
  // a clock that was put back begins anew
  if (by < 0 || by >= MINUTES) counts.minutes.fill(0)
  else for (let n = 1; n <= by; n++) counts.minutes[(counts.minute + n) % MINUTES] = 0
  counts.minute = minute
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

export interface OutcomeCounts {
  note(outcome: Pick<Outcome, 'source' | 'seen' | 'attempt' | 'mta' | 'at'>, address: string): void
  /** Since `from`, and at least in the window before `now`. */
  since(upstreamId: string, domain: string, from: number, now: number): number
}

export const createOutcomeCounts = (db: Db): OutcomeCounts => {
  const start = db.prepare<[], number>('SELECT last FROM order_state').pluck().get() ?? 0
  const byKey = new Map<string, Counts>()
  let isReadBack = false

  const makeRoom = (): void => {
    for (const [key, { hours }] of byKey) if (sum(hours.map(({ n }) => n)) < FEW) byKey.delete(key)
    const [...left] = byKey.keys()
    for (const key of left.slice(0, Math.max(0, left.length - MOST_KEYS / 2))) byKey.delete(key)
  }

  const add = (upstreamId: string, domain: string, at: number): void => {
    const key = `${upstreamId} ${domain}`
    const minute = Math.floor(at / MINUTE)
    const hour = Math.floor(at / HOUR)
    let counts = byKey.get(key)
    if (counts === undefined) {
      if (byKey.size >= MOST_KEYS) makeRoom()
      counts = fresh(minute)
      byKey.set(key, counts)
    }
    if (minute !== counts.minute) advance(counts, minute)
    const slot = minute % MINUTES
    counts.minutes[slot] = (counts.minutes[slot] ?? 0) + 1
    const last = counts.hours.at(-1)
    if (last?.hour === hour) last.n++
    else
      counts.hours = [
        ...counts.hours.filter((one) => one.hour < hour && one.hour > hour - HOURS),
        { hour, n: 1 },
      ]
  }

  const readBack = (now: number): void => {
    isReadBack = true
    const found = db
      .prepare<[number, number, number], { at: number; upstream: string; address: string }>(
        `SELECT e.occurred_at AS at, m.upstream_id AS upstream, r.address_lc AS address
         FROM events e JOIN recipients r ON r.id = e.recipient JOIN mtas m ON m.n = json_extract(e.more, '$[1]')
         WHERE e.ord <= ? AND e.ord >= ? AND e.scope % 2 = 0 AND (e.kind IN (${kindOf('email.sent')}, ${kindOf('email.bounced')})
           OR e.kind = ${kindOf('email.deferred')} AND e.attempt = 1) ORDER BY e.ord DESC LIMIT ?`,
      )
      .all(start, ordAt(now - HOURS * HOUR), READ_BACK)
    const since = [...byKey.values()].map((counts) => structuredClone(counts))
    const keys = [...byKey.keys()]
    byKey.clear()
    for (const { at, upstream, address } of found.reverse()) add(upstream, storedDomain(address), at)
    keys.forEach((key, i) => {
      const later = since[i] as Counts
      const counts = byKey.get(key)
      byKey.set(key, counts === undefined ? later : joined(counts, later))
    })
  }

  return {
    note(outcome, address) {
      if (isAnswer(outcome)) add(outcome.mta?.upstreamId ?? '', storedDomain(address), outcome.at)
    },
    since(upstreamId, domain, from, now) {
      if (!isReadBack) readBack(now)
      const counts = byKey.get(`${upstreamId} ${domain}`)
      if (counts === undefined) return 0
      if (Math.floor(now / MINUTE) > counts.minute) advance(counts, Math.floor(now / MINUTE))
      const recent = sum(counts.minutes)
      if (now - from <= INCIDENT_WINDOW_MS) return recent
      const hour = Math.floor(from / HOUR)
      return Math.max(recent, sum(counts.hours.filter((one) => one.hour >= hour).map(({ n }) => n)))
    },
  }
}

/** What was read back, and what was counted since. */
const joined = (before: Counts, later: Counts): Counts => {
  advance(before, later.minute)
  const hours = new Map(before.hours.map(({ hour, n }) => [hour, n]))
  for (const { hour, n } of later.hours) hours.set(hour, (hours.get(hour) ?? 0) + n)
  return {
    minute: later.minute,
    minutes: later.minutes.map((n, i) => n + (before.minutes[i] ?? 0)),
    hours: [...hours].sort(([a], [b]) => a - b).map(([hour, n]) => ({ hour, n })),
  }
}
