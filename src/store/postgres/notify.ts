/**
 * NAME      notify - what one daemon says to the others
 * DESCRIPTION
 *   That mail is due for pools which the relay of this process does not carry, that pools, domains or keys have changed,
 *   and that records were stored: other writers that store nothing move their frontier then (writer.ts).
 *   By NOTIFY, which takes one lock of the whole server until its commit is done: so in transactions of its own, that do
 *   not wait for the disk, after the commit that they speak of; never for each mail; not at all while no other daemon lives.
 *   Hints only: a daemon that misses one finds out when it next looks, within a second.
 */
import { systemClock } from '../../base/clock.js'
import { ordAt } from '../sql/pages.js'
import { type Asking, run } from '../sql/query.js'
import type { Connection } from './connection.js'
import type { Elsewhere, Hints } from './hints.js'
import { LIGHT } from './light.js'

/** What is told most often: ten times a second, and what makes others read all pools and domains once. */
const DUE_MS = 100
const STORED_MS = 500
const CHANGED_MS = 1000

/** A payload has at most 8,000 octets; with more pools than that it is about any. */
const MOST_POOLS = 100

const NOTIFY = `${LIGHT} SELECT pg_notify(?, ?) FROM light WHERE light.s IS NOT NULL`
const LISTEN = 'LISTEN postern_due; LISTEN postern_changed; LISTEN postern_stored'
const CHANNELS = { due: 'postern_due', changed: 'postern_changed', stored: 'postern_stored' } as const

/** At once, and then what was asked for meanwhile, together. */
export const spaced = (ms: number, work: () => void) => {
  let timer: NodeJS.Timeout | null = null
  let isAsked = false
  const go = (): void => {
    isAsked = false
    timer = setTimeout(() => {
      timer = null
      if (isAsked) go()
    }, ms).unref()
    work()
  }
  return {
    ask(): void {
      isAsked = true
      if (timer === null) go()
    },
    /** Nothing is left for later. */
    end(): void {
      if (timer !== null) clearTimeout(timer)
      if (isAsked) work()
      isAsked = false
    },
  }
}

interface NotifyParts {
  readonly owner: string
  readonly hints: Hints
  hasOthers(): boolean
  /** Runs a statement; it may fail. */
  send(verb: () => Asking<unknown>): Promise<unknown>
}

/** Tells others what threads of this process want them to know; answers what ends it. */
export const startNotifying = ({ owner, hints, hasOthers, send }: NotifyParts): (() => Promise<void>) => {
  const pools = new Set<string>()
  let isAny = false
  let last: Promise<unknown> = Promise.resolve()
  const tell = (kind: keyof typeof CHANNELS, poolIds: readonly string[] | null): void => {
    const payload = JSON.stringify({ from: owner, pools: poolIds })
    last = send(() => run(NOTIFY, CHANNELS[kind], payload)).catch(() => {})
  }
  const due = spaced(DUE_MS, () => {
    tell('due', isAny || pools.size > MOST_POOLS ? null : [...pools])
    pools.clear()
    isAny = false
  })
  const changed = spaced(CHANGED_MS, () => tell('changed', null))
  const stored = spaced(STORED_MS, () => tell('stored', null))
  const off = hints.onElsewhere((news: Elsewhere) => {
    if (!hasOthers()) return
    if (news.topic !== 'due') return { changed, stored }[news.topic].ask()
    if (news.poolIds === null) isAny = true
    else for (const id of news.poolIds) pools.add(id)
    due.ask()
  })
  return async () => {
    off()
    due.end()
    changed.end()
    stored.end()
    await last
  }
}

interface Told {
  readonly from?: string | undefined
  readonly pools?: readonly string[]
}

/** Whoever may log in there can say anything: what none of us wrote is about any pool. */
const toldBy = (payload: string): Told => {
  try {
    const { from, pools } = JSON.parse(payload) as Told
    return Array.isArray(pools) ? { from, pools } : { from }
  } catch {
    return {}
  }
}

/** Opens a connection on which others are heard. */
export const listening =
  (open: () => Promise<Connection>, owner: string, hints: Hints) => async (): Promise<Connection> => {
    const connection = await open()
    connection.onNotified((channel, payload) => {
      const { from, pools } = toldBy(payload)
      if (from === owner) return
      if (channel === CHANNELS.changed) hints.changed()
      // by the clock here: what others say may be anything
      else if (channel === CHANNELS.stored) hints.stored(ordAt(systemClock.now()))
      else if (pools?.some(hints.wants) ?? true) hints.due()
    })
    try {
      await connection.query({ text: LISTEN, values: [] })
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }
