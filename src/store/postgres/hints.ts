/**
 * NAME      hints - what the threads of a process tell one another
 * DESCRIPTION
 *   That something may be due, which pools the relay can carry mail for, what was settled, and that nothing more can be
 *   stored. Each is told after the commit and never before. Who misses one finds out when it next looks. Main is linked
 *   with every other thread, and passes on what one of them says.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Settled } from '../../lifecycle/facts.js'
import { TakenOverError } from '../port/upkeep.js'

/** What a transaction leaves to tell; a new one for each. */
export interface Effects {
  /** Something may have become due. */
  due: boolean
  readonly settled: Settled[]
}

export interface Hints {
  due(): void
  settled(settled: readonly Settled[]): void
  /** After a commit. */
  tell(effects: Effects): void
  onDue(wake: () => void): () => void
  onSettled(listener: (settled: readonly Settled[]) => void): () => void
  /** Whoever carries mail says for which pools it can. */
  ready(poolIds: readonly string[]): void
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
  | { readonly kind: 'settled'; readonly settled: readonly Settled[] }
  | { readonly kind: 'ready'; readonly poolIds: readonly string[] }
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
    emit(value: T): void {
      for (const listener of [...listeners]) listener(value)
    },
  }
}

export const createHints = (): Hints => {
  const due = createTopic<void>()
  const settled = createTopic<readonly Settled[]>()
  const broken = createTopic<Error>()
  const ports = new Set<MessagePort>()
  let wanted: ReadonlySet<string> | null = null

  /** Here, and to all other threads but the one that said it. */
  const pass = (message: Message, from: MessagePort | null): void => {
    if (message.kind === 'due') due.emit()
    else if (message.kind === 'settled') settled.emit(message.settled)
    else if (message.kind === 'ready') wanted = new Set(message.poolIds)
    else broken.emit(message.isTakenOver ? new TakenOverError(message.message) : new Error(message.message))
    for (const port of ports) if (port !== from) port.postMessage(message)
  }

  const hints: Hints = {
    due: () => pass({ kind: 'due' }, null),
    settled: (rows) => {
      if (rows.length > 0) pass({ kind: 'settled', settled: rows }, null)
    },
    tell(effects) {
      hints.settled(effects.settled)
      if (effects.due) hints.due()
    },
    onDue: due.on,
    onSettled: settled.on,
    ready: (poolIds) => pass({ kind: 'ready', poolIds }, null),
    wants: (poolId) => wanted === null || wanted.has(poolId),
    broken: (why) =>
      pass({ kind: 'broken', message: why.message, isTakenOver: why instanceof TakenOverError }, null),
    onBroken: broken.on,
    link(port) {
      ports.add(port)
      port.on('message', (message: Message) => pass(message, port))
      // a hint keeps no thread alive
      port.unref()
      port.on('close', () => ports.delete(port))
      if (wanted !== null) port.postMessage({ kind: 'ready', poolIds: [...wanted] } satisfies Message)
    },
    close() {
      for (const port of ports) port.close()
    },
  }
  return hints
}
