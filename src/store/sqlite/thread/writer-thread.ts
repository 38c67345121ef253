/**
 * NAME      writer-thread - the one that writes
 * DESCRIPTION
 *   Owns the only read-write connection. Calls pile up from every client while a
 *   batch is being committed, and the next batch takes them all: a lone call
 *   waits for nobody, a crowd shares one fsync, and there is no timer. Answers,
 *   then hints and freshly leased mail, leave after the commit and never before.
 *   When the store breaks, every client is told and the thread ends.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { openWriter } from '../connect.js'
import type { Answer, Call, FromWriter, Notice, Order, Topic, ToWriter, WriterSettings } from '../protocol.js'
import { migrate, NewerDatabaseError } from '../schema/migrate.js'
import { createDesk, type Desk } from '../write/desk.js'
import { createVerbs } from '../write/verbs.js'
import { BrokenStore, createBatch } from './batch.js'
import { createFaultPoint } from './fault-point.js'
import { RAW_OF_CLAIMED } from './wire.js'

/**
 * So many verbs share a commit, or a few more: beyond it, answers would be late
 * rather than cheap. Messages are not split, since their bodies share a buffer
 * that leaves with the first mail that goes to the relay.
 */
const ENOUGH = 1000

interface Client {
  readonly port: MessagePort
  readonly topics: Set<Topic>
}

interface Job {
  readonly client: Client
  readonly call: Call
}

const tell = (client: Client, message: FromWriter): void => client.port.postMessage(message)

/** Answers go back to who asked: call ids are unique per client only, so jobs are renumbered in a batch. */
const answerAll = (jobs: readonly Job[], answers: readonly Answer[]): void => {
  const perClient = new Map<Client, Answer[]>()
  for (const answer of answers) {
    const job = jobs[answer[0]]
    if (job === undefined) continue
    const list = perClient.get(job.client) ?? []
    list.push([job.call[0], answer[1], answer[2]] as Answer)
    perClient.set(job.client, list)
  }
  for (const [client, list] of perClient) tell(client, { kind: 'answers', answers: list })
}

const publish = (desk: Desk, clients: ReadonlySet<Client>, taker: Client | null): void => {
  const { due, leased, settled } = desk.effects
  if (!due && leased.length === 0 && settled.length === 0) return
  desk.forgetEffects()
  if (leased.length > 0 && taker !== null) {
    const buffers = new Set(leased.map((one) => one[RAW_OF_CLAIMED]?.buffer as ArrayBuffer))
    taker.port.postMessage({ kind: 'leased', claimed: leased } satisfies FromWriter, [...buffers])
  }
  for (const client of clients) {
    if (settled.length > 0 && client.topics.has('settled')) tell(client, { kind: 'settled', settled })
    if (due && client.topics.has('due')) tell(client, { kind: 'due' })
  }
}

/** The messages of the next batch. */
const take = (waiting: Job[][]): Job[] => {
  let size = 0
  const count = waiting.findIndex((jobs) => {
    size += jobs.length
    return size >= ENOUGH
  })
  return waiting.splice(0, count === -1 ? waiting.length : count + 1).flat()
}

const run = (parent: MessagePort, settings: WriterSettings): void => {
  const db = openWriter(settings.file)
  migrate(db, Date.now())
  const desk = createDesk(db)
  const batch = createBatch(desk, createVerbs(desk), createFaultPoint(settings.faultPoint))
  const clients = new Set<Client>()
  let taker: Client | null = null
  let waiting: Job[][] = []
  let closing = false

  const end = (): void => {
    for (const client of clients) client.port.close()
    parent.close()
  }

  const breakDown = (error: Error): void => {
    for (const client of clients) tell(client, { kind: 'broken', message: error.message })
    end()
  }

  const pump = (): void => {
    try {
      while (waiting.length > 0) {
        const jobs = take(waiting)
        const answers = batch(jobs.map((job, i): Call => [i, job.call[1], job.call[2]]))
        answerAll(jobs, answers)
        publish(desk, clients, taker)
      }
    } catch (error) {
      waiting = []
      closing = true
      breakDown(error instanceof BrokenStore ? error : new BrokenStore(String(error)))
      return
    }
    if (!closing) return
    db.close()
    end()
  }

  const enqueue = (client: Client, calls: readonly Call[]): void => {
    if (waiting.length === 0) setImmediate(pump)
    waiting.push(calls.map((call) => ({ client, call })))
  }

  const listen = (client: Client, topic: Topic, on: boolean): void => {
    if (on) client.topics.add(topic)
    else client.topics.delete(topic)
    if (topic === 'leased' && settings.daemon) takeHot(client, on)
  }

  /** One client at a time: two would send the same mail. */
  const takeHot = (client: Client, on: boolean): void => {
    if (on) taker = client
    else if (taker !== client) return
    else taker = null
    desk.hot.open = taker !== null
    if (taker === null) desk.hot.clear()
  }

  const connect = (port: MessagePort): void => {
    const client: Client = { port, topics: new Set() }
    clients.add(client)
    port.on('message', (message: ToWriter) => {
      if (message.kind === 'calls') enqueue(client, message.calls)
      else listen(client, message.topic, message.on)
    })
    port.on('close', () => {
      clients.delete(client)
      takeHot(client, false)
    })
    tell(client, { kind: 'hello', file: settings.file })
  }

  parent.on('message', (order: Order) => {
    if (order.kind === 'connect') connect(order.port as MessagePort)
    else {
      closing = true
      if (waiting.length === 0) setImmediate(pump)
    }
  })
}

if (parentPort !== null) {
  const parent = parentPort
  const notify = (notice: Notice): void => parent.postMessage(notice)
  try {
    run(parent, workerData as WriterSettings)
    notify({ kind: 'ready' })
  } catch (error) {
    notify({
      kind: 'failed',
      message: error instanceof Error ? error.message : String(error),
      newer: error instanceof NewerDatabaseError,
    })
    parent.close()
  }
}
