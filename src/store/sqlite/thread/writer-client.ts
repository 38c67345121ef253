/**
 * NAME      writer-client - one client's end of the port to the writer
 * DESCRIPTION
 *   Turns calls into promises. An idle client sends at once (at the end of the
 *   current microtasks); while answers are outstanding, calls of one turn of the
 *   event loop share a message. The writer is asked to serve the client when it
 *   first says something. When the writer breaks or goes away, or can not begin,
 *   every open and every later call rejects.
 */
import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../../../base/clock.js'
import { fromPlainFault, OutageError } from '../../../base/fault.js'
import { newId } from '../../../base/id.js'
import type { Claimed, Settled } from '../../../lifecycle/facts.js'
import type { Acting } from '../../rules/audit.js'
import type { Answer, Call, FromWriter, Topic, ToWriter, Verb, WriterVerbs } from '../protocol.js'
import { fromClaimedArray, packBodies, type WireAcceptance } from './wire.js'

export interface WriterClient {
  call<V extends Verb>(verb: V, ...args: Parameters<WriterVerbs[V]>): Promise<ReturnType<WriterVerbs[V]>>
  /** The same client, whose calls say who acts; those of `asOrder` have one entry in the audit. */
  by(acting: Acting): WriterClient
  /** For the calls of one order: they share an entry. */
  asOrder(): WriterClient
  /** Sends a call whose answer nobody waits for, before any later call. */
  post<V extends Verb>(verb: V, ...args: Parameters<WriterVerbs[V]>): void
  onDue(wake: () => void): () => void
  onLeased(take: (claimed: readonly Claimed[]) => void): () => void
  /** Which pools the taker of leased mail can carry mail for. */
  ready(poolIds: readonly string[]): void
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

/** A promise and the hand that resolves it. */
const promised = <T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } => {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

type Send = (message: ToWriter, transfer?: readonly ArrayBuffer[]) => void

const flushed = (send: Send, calls: readonly Call[]): void => {
  const bodies = packBodies(
    calls.filter((call) => call[1] === 'accept').map((call) => call[2][0] as WireAcceptance),
  )
  send({ kind: 'calls', calls }, bodies)
}

/** Calls on their way out and back. */
const createCalls = (post: Send) => {
  const pending = new Map<number, Pending>()
  let outbox: Call[] = []
  let resting: (() => void)[] = []
  let gone: Error | null = null
  let lastId = 0

  const flush = (): void => {
    const sending = outbox
    outbox = []
    flushed(post, sending)
  }
  const rest = (): void => {
    for (const resolve of resting) resolve()
    resting = []
  }
  const settle = (answer: Answer): void => {
    const waiting = pending.get(answer[0])
    if (waiting === undefined) return
    pending.delete(answer[0])
    if (answer[1] === 'value') waiting.resolve(answer[2] as never)
    else waiting.reject(answer[1] === 'fault' ? fromPlainFault(answer[2]) : new Error(answer[2]))
  }

  const send = (verb: Verb, args: readonly unknown[], acting?: Acting): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (gone !== null) {
        reject(gone)
        return
      }
      if (outbox.length === 0) {
        if (pending.size === 0) queueMicrotask(flush)
        else setImmediate(flush)
      }
      lastId++
      outbox.push(acting === undefined ? [lastId, verb, args] : [lastId, verb, args, acting])
      pending.set(lastId, { resolve, reject })
    })

  return {
    call: ((verb, ...args) => send(verb, args)) as WriterClient['call'],
    callBy: (acting: Acting) => ((verb, ...args) => send(verb, args, acting)) as WriterClient['call'],

    answered(answers: readonly Answer[]): void {
      for (const answer of answers) settle(answer)
      if (pending.size === 0) rest()
    },

    /** No call works from here on; answers the first reason. */
    fail(error: Error): Error {
      gone ??= error
      for (const waiting of pending.values()) waiting.reject(gone)
      pending.clear()
      rest()
      return gone
    },

    idle: (): Promise<void> =>
      pending.size === 0 ? Promise.resolve() : new Promise((resolve) => resting.push(resolve)),
  }
}

/** Listeners of one topic; the writer is told of the first and of the last. */
const createTopic = <T>(send: Send, topic: Topic) => {
  const listeners = new Set<(value: T) => void>()
  const announce = (on: boolean): void => send({ kind: 'listen', topic, on })
  return {
    listeners,
    on(listener: (value: T) => void): () => void {
      if (listeners.size === 0) announce(true)
      listeners.add(listener)
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) announce(false)
      }
    },
    emit(value: T): void {
      for (const listener of listeners) listener(value)
    },
  }
}

/** `begin` has the writer take the other end of the port, where that is still to be done. */
export const createWriterClient = (port: MessagePort, begin?: () => Promise<void>): WriterClient => {
  let hasBegun = begin === undefined
  const send: Send = (message, transfer = []) => {
    port.postMessage(message, transfer)
    if (hasBegun) return
    hasBegun = true
    begin?.().catch(fail)
  }
  const calls = createCalls(send)
  const due = createTopic<void>(send, 'due')
  const leased = createTopic<readonly Claimed[]>(send, 'leased')
  const settled = createTopic<readonly Settled[]>(send, 'settled')
  const file = promised<string>()
  const broken = promised<Error>()
  let closed = false

  // A failure of a posted call also fails what follows it, or is a hint lost: there is nobody to tell.
  const post: WriterClient['post'] = (verb, ...args) => void calls.call(verb, ...args).catch(() => {})

  const fail = (error: Error): void => {
    const reason = calls.fail(error)
    if (!closed) broken.resolve(reason)
  }
  const take = (claimed: readonly Claimed[]): void => {
    if (leased.listeners.size > 0) leased.emit(claimed)
    else
      post(
        'release',
        claimed.map(({ recipientId, leaseGen }) => ({ recipientId, leaseGen })),
        systemClock.now(),
      )
  }
  port.on('message', (message: FromWriter) => {
    if (message.kind === 'answers') calls.answered(message.answers)
    else if (message.kind === 'leased') take(message.claimed.map(fromClaimedArray))
    else if (message.kind === 'settled') settled.emit(message.settled)
    else if (message.kind === 'due') due.emit()
    else if (message.kind === 'hello') file.resolve(message.file)
    else fail(new OutageError(message.message))
  })
  port.on('close', () => fail(new OutageError('the store is closed')))

  const by = (acting: Acting): WriterClient => ({
    ...client,
    call: calls.callBy(acting),
    asOrder: () => (acting.entry === null ? by({ ...acting, entry: newId('aud') }) : by(acting)),
  })
  const client: WriterClient = {
    call: calls.call,
    by,
    asOrder: () => client,
    post,
    onDue: due.on,
    onLeased: leased.on,
    ready: (poolIds) => send({ kind: 'ready', poolIds }),
    onSettled: settled.on,
    file: file.promise,
    broken: broken.promise,
    idle: calls.idle,
    close() {
      closed = true
      fail(new OutageError('the store is closed'))
      port.close()
    },
  }
  return client
}
