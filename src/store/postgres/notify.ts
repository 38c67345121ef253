/**
 * NAME      notify - what one daemon says to the others, and one thread to another
 *   That mail is due for pools which the relay of this process does not carry, that pools, domains or keys have changed,
 *   and that records were stored: other writers that store nothing move their frontier then (writer.ts).
 *   By NOTIFY, which takes one lock of the whole server until its commit is done: so in transactions of its own, that do
 *   not wait for the disk, after the commit that they speak of; never for each mail; not at all while no other daemon lives.
 *   Hints only: a daemon that misses one finds out when it next looks, within a second.
 */

import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.js'
import type { Settled } from '../../lifecycle/facts.js'
import { TakenOverError } from '../port/upkeep.js'
import { ordAt } from '../sql/pages.js'
import { type Asking, run } from '../sql/query.js'
import type { Connection } from './connection.js'
import type { Lease } from './leased.js'
import { LIGHT } from './light.js'

// What the threads of a process tell one another. That something may be due, which pools the relay can carry mail
// for, what was settled, that nothing more can be stored, mail that is leased to the relay (accept.ts), and what
// other daemons should know of (above). Each is told after the commit and never before. Who misses one finds out
// when it next looks. Main is linked with every other thread, and passes on what one of them says.

/** What a transaction leaves to tell; a new one for each. */
export interface Effects {
  /** Something may have become due. */
  due: boolean
  readonly settled: Settled[]
}

/** Of mail that is due; null: for any pool. */
type Elsewhere =
  | { readonly topic: 'due'; readonly poolIds: readonly string[] | null }
  | { readonly topic: 'changed' | 'stored' }

export interface Hints {
  due(): void
  /** Other daemons should know of it. */
  elsewhere(news: Elsewhere): void
  onElsewhere(listener: (news: Elsewhere) => void): () => void
  /** Another daemon has changed pools, domains or keys of return paths. */
  changed(): void
  onChanged(reread: () => void): () => void
  settled(settled: readonly Settled[]): void
  /** There are records up to this place: whoever reads them waits for writers that have stored nothing since. */
  stored(place: number): void
  onStored(listener: (place: number) => void): () => void
  /** After a commit. */
  tell(effects: Effects): void
  onDue(wake: () => void): () => void
  onSettled(listener: (settled: readonly Settled[]) => void): () => void
  /** Whoever carries mail says for which pools it can, and how many mails of each it would have at hand. */
  ready(poolIds: readonly string[], rooms?: readonly number[]): void
  room(poolId: string): number
  /** The writer to which mail may be leased that this process accepts; null: none. */
  takes(boot: number | null): void
  taker(): number | null
  onTaker(listener: (boot: number | null) => void): () => void
  /** To the taker. */
  leased(leases: readonly Lease[]): void
  onLeased(take: (leases: readonly Lease[]) => void): () => void
  /** Whoever gives back what came when nobody took it any more. */
  onUntaken(giveBack: (leases: readonly Lease[]) => void): () => void
  /** The taker has given back these recipients, or found them gone. */
  left(recipientIds: readonly string[]): void
  onLeft(listener: (recipientIds: readonly string[]) => void): () => void
  /** Whether anybody could do something with mail of this pool. */
  wants(poolId: string): boolean
  /** This process can promise nothing more. */
  broken(why: Error): void
  onBroken(listener: (why: Error) => void): () => void
  /** Another thread hears what is told here, and tells here what it knows. */
  link(port: MessagePort): void
  close(): void
}

type Message =
  | { readonly kind: 'due' }
  | { readonly kind: 'changed' }
  | { readonly kind: 'elsewhere'; readonly news: Elsewhere }
  | { readonly kind: 'settled'; readonly settled: readonly Settled[] }
  | { readonly kind: 'stored'; readonly place: number }
  | { readonly kind: 'ready'; readonly poolIds: readonly string[]; readonly rooms: readonly number[] }
  | { readonly kind: 'taker'; readonly boot: number | null }
  | { readonly kind: 'leased'; readonly leases: readonly Lease[] }
  | { readonly kind: 'left'; readonly recipientIds: readonly string[] }
  | { readonly kind: 'broken'; readonly message: string; readonly isTakenOver: boolean }

const createTopic = <T>() => {
  const listeners = new Set<(value: T) => void>()
  return {
    on(listener: (value: T) => void): () => void {
      // each its own, though the same function were given twice
      const own = (value: T): void => listener(value)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    isHeard: (): boolean => listeners.size > 0,
    emit(value: T): void {
      for (const listener of [...listeners]) listener(value)
    },
  }
}

/** What is heard in this thread. */
const createTopics = () => {
  const due = createTopic<void>()
  const changed = createTopic<void>()
  const elsewhere = createTopic<Elsewhere>()
  const settled = createTopic<readonly Settled[]>()
  const stored = createTopic<number>()
  const broken = createTopic<Error>()
  const taker = createTopic<number | null>()
  const leased = createTopic<readonly Lease[]>()
  const untaken = createTopic<readonly Lease[]>()
  const left = createTopic<readonly string[]>()
  const emit = (message: Message): void => {
    if (message.kind === 'due') due.emit()
    else if (message.kind === 'changed') changed.emit()
    else if (message.kind === 'elsewhere') elsewhere.emit(message.news)
    else if (message.kind === 'settled') settled.emit(message.settled)
    else if (message.kind === 'stored') stored.emit(message.place)
    else if (message.kind === 'taker') taker.emit(message.boot)
    else if (message.kind === 'leased') (leased.isHeard() ? leased : untaken).emit(message.leases)
    else if (message.kind === 'left') left.emit(message.recipientIds)
    else if (message.kind === 'broken')
      broken.emit(message.isTakenOver ? new TakenOverError(message.message) : new Error(message.message))
  }
  const listen = {
    onDue: due.on,
    onChanged: changed.on,
    onElsewhere: elsewhere.on,
    onSettled: settled.on,
    onStored: stored.on,
    onBroken: broken.on,
    onTaker: taker.on,
    onLeased: leased.on,
    onUntaken: untaken.on,
    onLeft: left.on,
  }
  return { emit, listen }
}

/** Of mails that a pool has room for, as long as nobody said it. */
const ANY_NUMBER = Number.MAX_SAFE_INTEGER

/** Who carries mail, and for which pools: the last that was said. */
const createCarrier = () => {
  let wanted: ReadonlyMap<string, number> | null = null
  let taker: { readonly boot: number; readonly port: MessagePort | null } | null = null
  return {
    hear(message: Message, from: MessagePort | null): void {
      if (message.kind === 'ready')
        wanted = new Map(message.poolIds.map((id, i) => [id, message.rooms[i] ?? ANY_NUMBER]))
      else if (message.kind === 'taker')
        taker = message.boot === null ? null : { boot: message.boot, port: from }
    },
    port: (): MessagePort | null => taker?.port ?? null,
    /** For a thread that comes later. */
    told: (): readonly Message[] =>
      wanted === null ? [] : [{ kind: 'ready', poolIds: [...wanted.keys()], rooms: [...wanted.values()] }],
    asked: {
      wants: (poolId: string): boolean => wanted === null || wanted.has(poolId),
      room: (poolId: string): number => (wanted === null ? ANY_NUMBER : (wanted.get(poolId) ?? 0)),
      taker: (): number | null => taker?.boot ?? null,
    },
  }
}

type Carrier = ReturnType<typeof createCarrier>

/** Threads that hear what is told here, and tell here what they know. */
const createLinks = (hear: (message: Message, from: MessagePort) => void, carrier: Carrier) => {
  const ports = new Set<MessagePort>()
  return {
    pass(message: Message, from: MessagePort | null): void {
      for (const port of ports) if (port !== from) port.postMessage(message)
    },
    link(port: MessagePort): void {
      ports.add(port)
      port.on('message', (message: Message) => hear(message, port))
      // a hint keeps no thread alive
      port.unref()
      port.on('close', () => {
        ports.delete(port)
        if (carrier.port() === port) hear({ kind: 'taker', boot: null }, port)
      })
      for (const message of carrier.told()) port.postMessage(message)
    },
    close(): void {
      for (const port of ports) port.close()
    },
  }
}

export const createHints = (): Hints => {
  const { emit, listen } = createTopics()
  const carrier = createCarrier()
  /** Here, and to all other threads but the one that said it. */
  const hear = (message: Message, from: MessagePort | null): void => {
    carrier.hear(message, from)
    emit(message)
    pass(message, from)
  }
  const { pass, link, close } = createLinks(hear, carrier)
  const say = (message: Message): void => hear(message, null)

  const hints: Hints = {
    due: () => say({ kind: 'due' }),
    elsewhere: (news) => say({ kind: 'elsewhere', news }),
    changed: () => say({ kind: 'changed' }),
    stored: (place) => say({ kind: 'stored', place }),
    settled: (settled) => {
      if (settled.length > 0) say({ kind: 'settled', settled })
    },
    tell(effects) {
      hints.settled(effects.settled)
      if (!effects.due) return
      hints.due()
      hints.elsewhere({ topic: 'due', poolIds: null })
    },
    ...listen,
    ...carrier.asked,
    ready: (poolIds, rooms = []) => say({ kind: 'ready', poolIds, rooms }),
    takes: (boot) => say({ kind: 'taker', boot }),
    leased(leases) {
      const port = carrier.port()
      const message = { kind: 'leased', leases } as const
      const buffers = new Set(
        leases.flatMap(({ claimed: { raw } }) => (raw === null ? [] : [raw.buffer as ArrayBuffer])),
      )
      if (port === null) emit(message)
      else port.postMessage(message satisfies Message, [...buffers])
    },
    left: (recipientIds) => {
      if (recipientIds.length > 0) say({ kind: 'left', recipientIds })
    },
    broken: (why) =>
      say({ kind: 'broken', message: why.message, isTakenOver: why instanceof TakenOverError }),
    link,
    close,
  }
  return hints
}

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
