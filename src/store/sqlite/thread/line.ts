/**
 * NAME      line - one client's end of the port to the writer
 * DESCRIPTION
 *   Turns calls into promises. An idle line sends at once (at the end of the
 *   current microtasks); while answers are outstanding, calls of one turn of the
 *   event loop share a message. When the writer breaks or goes away, every open
 *   and every later call rejects.
 */
import type { MessagePort } from 'node:worker_threads'
import { fromPlainFault } from '../../../base/fault.js'
import type { Claimed, Settled } from '../../port.js'
import type { Answer, Call, FromWriter, Topic, ToWriter, Verb, WriterVerbs } from '../protocol.js'
import { fromClaimedArray, packBodies, type WireAcceptance } from './wire.js'

export interface Line {
  call<V extends Verb>(verb: V, ...args: Parameters<WriterVerbs[V]>): Promise<ReturnType<WriterVerbs[V]>>
  /** Sends a call whose answer nobody waits for, before any later call. */
  post<V extends Verb>(verb: V, ...args: Parameters<WriterVerbs[V]>): void
  onDue(wake: () => void): () => void
  onLeased(take: (claimed: readonly Claimed[]) => void): () => void
  onSettled(listener: (settled: readonly Settled[]) => void): () => void
  /** The database file, once the writer has said hello. */
  readonly file: Promise<string>
  readonly broken: Promise<Error>
  /** Resolves when every call so far has its answer. */
  idle(): Promise<void>
  close(): void
}

interface Pending {
  readonly resolve: (value: never) => void
  readonly reject: (reason: Error) => void
}

type Listeners = {
  readonly due: Set<() => void>
  readonly leased: Set<(claimed: readonly Claimed[]) => void>
  readonly settled: Set<(settled: readonly Settled[]) => void>
}

/** Adds a listener; the writer is told of the first and of the last. */
const subscribe = <L>(set: Set<L>, listener: L, topic: Topic, port: MessagePort): (() => void) => {
  const announce = (on: boolean) => port.postMessage({ kind: 'listen', topic, on } satisfies ToWriter)
  if (set.size === 0) announce(true)
  set.add(listener)
  return () => {
    if (set.delete(listener) && set.size === 0) announce(false)
  }
}

const createOutbox = (port: MessagePort, isIdle: () => boolean) => {
  let calls: Call[] = []
  const flush = (): void => {
    if (calls.length === 0) return
    const sending = calls
    calls = []
    packBodies(sending.filter((call) => call[1] === 'accept').map((call) => call[2][0] as WireAcceptance))
    port.postMessage({ kind: 'calls', calls: sending } satisfies ToWriter)
  }
  return {
    flush,
    add(call: Call): void {
      if (calls.length === 0) {
        if (isIdle()) queueMicrotask(flush)
        else setImmediate(flush)
      }
      calls.push(call)
    },
  }
}

const createDispatch = (
  pending: Map<number, Pending>,
  listeners: Listeners,
  hello: (file: string) => void,
  fail: (error: Error) => void,
  rested: () => void,
) => {
  const settle = (answer: Answer): void => {
    const waiting = pending.get(answer[0])
    if (waiting === undefined) return
    pending.delete(answer[0])
    if (answer[1] === 'value') waiting.resolve(answer[2] as never)
    else waiting.reject(answer[1] === 'fault' ? fromPlainFault(answer[2]) : new Error(answer[2]))
  }
  return (message: FromWriter): void => {
    if (message.kind === 'answers') {
      for (const answer of message.answers) settle(answer)
      if (pending.size === 0) rested()
    } else if (message.kind === 'leased') {
      const claimed = message.claimed.map(fromClaimedArray)
      for (const take of listeners.leased) take(claimed)
    } else if (message.kind === 'settled') for (const listener of listeners.settled) listener(message.settled)
    else if (message.kind === 'due') for (const wake of listeners.due) wake()
    else if (message.kind === 'hello') hello(message.file)
    else fail(new Error(message.message))
  }
}

export const createLine = (port: MessagePort): Line => {
  const pending = new Map<number, Pending>()
  const listeners: Listeners = { due: new Set(), leased: new Set(), settled: new Set() }
  const outbox = createOutbox(port, () => pending.size === 0)
  let hello: (file: string) => void = () => {}
  let breakWith: (error: Error) => void = () => {}
  const file = new Promise<string>((resolve) => {
    hello = resolve
  })
  const broken = new Promise<Error>((resolve) => {
    breakWith = resolve
  })
  let gone: Error | null = null
  let closed = false
  let resting: (() => void)[] = []
  let lastId = 0

  const rested = (): void => {
    for (const resolve of resting) resolve()
    resting = []
  }
  const fail = (error: Error): void => {
    gone ??= error
    for (const waiting of pending.values()) waiting.reject(gone)
    pending.clear()
    rested()
    if (!closed) breakWith(gone)
  }
  port.on('message', createDispatch(pending, listeners, hello, fail, rested))
  port.on('close', () => fail(new Error('the store is closed')))

  const call: Line['call'] = (verb, ...args) =>
    new Promise((resolve, reject) => {
      if (gone !== null) {
        reject(gone)
        return
      }
      const id = ++lastId
      outbox.add([id, verb, args])
      pending.set(id, { resolve, reject })
    })

  return {
    call,
    post: (verb, ...args) => {
      // A failure of a posted call also fails what follows it, or is a hint lost: nobody to tell here.
      call(verb, ...args).catch(() => {})
    },
    onDue: (wake) => subscribe(listeners.due, wake, 'due', port),
    onLeased: (take) => subscribe(listeners.leased, take, 'leased', port),
    onSettled: (listener) => subscribe(listeners.settled, listener, 'settled', port),
    file,
    broken,
    idle: () => (pending.size === 0 ? Promise.resolve() : new Promise((resolve) => resting.push(resolve))),
    close() {
      closed = true
      gone ??= new Error('the store is closed')
      port.close()
    },
  }
}
