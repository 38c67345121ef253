/**
 * NAME      clients - who is attached to the writer
 * DESCRIPTION
 *   Each client has a port and the topics it listens to. Answers go to who
 *   asked, hints to who listens, hot mail to its one taker.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Answer, Call, FromWriter, Topic, ToWriter, WriterSettings } from '../protocol.js'
import type { WriteContext } from '../write/context.js'
import { RAW_OF_CLAIMED } from './wire.js'

export interface Client {
  readonly port: MessagePort
  readonly topics: Set<Topic>
  /** The pools that it can carry mail for; null while it has not said. */
  ready: ReadonlySet<string> | null
}

export interface Job {
  readonly client: Client
  readonly call: Call
}

interface Clients {
  connect(port: MessagePort): void
  /** Passes on what the committed batch leaves to tell. */
  publish(): void
  broken(error: Error): void
  closeAll(): void
}

const tell = (client: Client, message: FromWriter): void => client.port.postMessage(message)

/** Answers to their askers. Ids are unique per client only, so a batch numbers its calls by position in `jobs`. */
export const answerAll = (jobs: readonly Job[], answers: readonly Answer[]): void => {
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

export const createClients = (
  context: WriteContext,
  settings: WriterSettings,
  enqueue: (client: Client, calls: readonly Call[]) => void,
): Clients => {
  const clients = new Set<Client>()
  /** One at a time: two would send the same mail. */
  let taker: Client | null = null

  const takeHot = (client: Client, on: boolean): void => {
    if (on) taker = client
    else if (taker !== client) return
    else taker = null
    context.hot.ready = taker?.ready ?? null
    context.hot.open = taker !== null
    if (taker === null) context.hot.clear()
  }

  const listen = (client: Client, topic: Topic, on: boolean): void => {
    if (on) client.topics.add(topic)
    else client.topics.delete(topic)
    if (topic === 'leased' && settings.daemon) takeHot(client, on)
  }

  return {
    connect(port) {
      const client: Client = { port, topics: new Set(), ready: null }
      clients.add(client)
      port.on('message', (message: ToWriter) => {
        if (message.kind === 'calls') enqueue(client, message.calls)
        else if (message.kind === 'listen') listen(client, message.topic, message.on)
        else {
          client.ready = new Set(message.poolIds)
          if (taker === client) context.hot.ready = client.ready
        }
      })
      port.on('close', () => {
        clients.delete(client)
        takeHot(client, false)
      })
      tell(client, { kind: 'hello', file: settings.file })
    },

    publish() {
      const { due, leased, settled } = context.effects
      if (!due && leased.length === 0 && settled.length === 0) return
      context.forgetEffects()
      if (leased.length > 0 && taker !== null) {
        const raws = leased.map((one) => one[RAW_OF_CLAIMED]).filter((raw) => raw !== null)
        const buffers = new Set(raws.map((raw) => raw.buffer as ArrayBuffer))
        taker.port.postMessage({ kind: 'leased', claimed: leased } satisfies FromWriter, [...buffers])
      }
      for (const client of clients) {
        if (settled.length > 0 && client.topics.has('settled')) tell(client, { kind: 'settled', settled })
        if (due && client.topics.has('due')) tell(client, { kind: 'due' })
      }
    },

    broken(error) {
      for (const client of clients) tell(client, { kind: 'broken', message: error.message })
    },

    closeAll() {
      for (const client of clients) client.port.close()
    },
  }
}
