/**
 * Accept with and without event streams, and how late an event comes. The clients of
 * the streams share the cores, so the first figure is an upper bound of the cost.
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import { Postern } from '../parts/postern.js'
import { atMost } from './goals.js'
import { percentile as at, median, now, sleep } from './load.js'

const CONNECTIONS = 50
const STREAMS = 100
const PACE = 1_000

const ask = (
  agent: Agent | false,
  url: string,
  key: string,
  payload: string | null,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const call = request(url, { method: payload === null ? 'GET' : 'POST', agent, headers })
    call.once('error', reject)
    call.once('response', resolve)
    call.end(payload ?? undefined)
  })

/** Mails a second; no more than `pace` of them. */
export const accept = async (
  url: string,
  key: string,
  count: number,
  pace: number,
  took: (ms: number) => void = () => {},
): Promise<number> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const began = now()
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const n = next++
      const early = began + (n / pace) * 1000 - now()
      if (early > 0) await sleep(early)
      const mail = {
        from: 'app@bench.test',
        to: `u${n}@dest.test`,
        subject: `Receipt ${n}`,
        text: 'Thank you.',
      }
      const asked = now()
      const answer = await ask(agent, `${url}/v1/emails`, key, JSON.stringify(mail))
      took(now() - asked)
      answer.resume()
      if (answer.statusCode !== 202) throw new Error(`${url} answered ${answer.statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  agent.destroy()
  return (count / (now() - began)) * 1000
}

/** Opens streams; the first one notes how late each event is. The others are read and thrown away. */
const openStreams = async (url: string, key: string, late: number[]): Promise<readonly IncomingMessage[]> => {
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, () => ask(false, `${url}/v1/events/stream`, key, null)),
  )
  for (const stream of streams) stream.on('error', () => {}).resume()
  streams[0]?.on('data', (chunk: Buffer) => {
    const then = Date.now()
    for (const [, created] of chunk.toString('latin1').matchAll(/"created_at":"([^"]+)"/g)) {
      late.push(then - Date.parse(created ?? ''))
    }
  })
  return streams
}

export const eventsBench = async (runs: number, count: number): Promise<void> => {
  const gateway = new Postern({
    rate_limit: { per_minute: 100_000_000 },
    events: { streams_per_key: 1_000, streams_per_address: 1_000 },
  })
  await gateway.start()
  const key = await gateway.key()
  await accept(gateway.url, key, count, Number.POSITIVE_INFINITY)
  const alone: number[] = []
  const watched: number[] = []
  const late: number[] = []
  let paced = 0
  for (let run = 0; run < runs; run++) {
    alone.push(await accept(gateway.url, key, count, Number.POSITIVE_INFINITY))
    const streams = await openStreams(gateway.url, key, [])
    watched.push(await accept(gateway.url, key, count, Number.POSITIVE_INFINITY))
    for (const stream of streams) stream.destroy()
    const timed = await openStreams(gateway.url, key, late)
    paced = await accept(gateway.url, key, count, PACE)
    await sleep(1_000)
    for (const stream of timed) stream.destroy()
  }
  await gateway.remove()
  const cost = (1 - median(watched) / median(alone)) * 100
  console.log(`accept alone            ${median(alone).toFixed(0)}/s`)
  console.log(
    `with ${STREAMS} streams        ${median(watched).toFixed(0)}/s, ${cost.toFixed(1)} % less, ${atMost(5, cost, ' %')}`,
  )
  const p99 = at(late, 0.99)
  console.log(
    `event to client at ${paced.toFixed(0)}/s: p50 ${at(late, 0.5)} ms, p99 ${p99} ms, ${atMost(250, p99, ' ms')} (${late.length} events)`,
  )
}
