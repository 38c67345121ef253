/** POST /v1/emails, from request to the upstream, beside a bare hapi route that only parses the same JSON. */
import { fork } from 'node:child_process'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Postern } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'
import { atLeast, atMost } from './goals.js'
import { median, now, percentile, Sink, spread } from './load.js'

const CONNECTIONS = 50

interface HttpFigure {
  readonly rate: number
  readonly p50: number
  readonly p99: number
}

const body = (n: number): string =>
  JSON.stringify({
    from: 'app@bench.test',
    to: `u${n}@dest.test`,
    subject: `Receipt ${n}`,
    text: 'Thank you for your order.\n'.repeat(20),
  })

export const post = (agent: Agent, url: string, key: string, payload: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const call = request(url, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
        authorization: `Bearer ${key}`,
      },
    })
    call.once('error', reject)
    call.once('response', (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
    })
    call.end(payload)
  })

const hammer = async (url: string, key: string, count: number): Promise<HttpFigure> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const times: number[] = []
  let next = 0
  const began = now()
  const worker = async (): Promise<void> => {
    while (next < count) {
      const payload = body(next++)
      const start = now()
      const status = await post(agent, url, key, payload)
      if (status !== 202) throw new Error(`${url} answered ${status}`)
      times.push(now() - start)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  const rate = (count / (now() - began)) * 1000
  agent.destroy()
  return { rate, p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

const bareRoute = async (count: number, warm: number): Promise<HttpFigure> => {
  const child = fork(fileURLToPath(new URL('./bare-hapi.js', import.meta.url)))
  const port = await new Promise<number>((resolve) =>
    child.once('message', (message) => resolve(Number(message))),
  )
  try {
    await hammer(`http://127.0.0.1:${port}/v1/emails`, 'x', warm)
    return await hammer(`http://127.0.0.1:${port}/v1/emails`, 'x', count)
  } finally {
    child.kill()
  }
}

const postern = async (count: number, warm: number): Promise<HttpFigure & { readonly endToEnd: number }> => {
  const sink = new Sink(await freePort())
  const gateway = new Postern({ rate_limit: { per_minute: 100_000_000 } })
  try {
    await gateway.start()
    await gateway.route(`smtp://127.0.0.1:${sink.port}?tls=none&max_connections=20`)
    const key = await gateway.key()
    await hammer(`${gateway.url}/v1/emails`, key, warm)
    await sink.until(warm)
    const began = now()
    const figure = await hammer(`${gateway.url}/v1/emails`, key, count)
    const ended = await sink.until(warm + count)
    return { ...figure, endToEnd: (count / (ended - began)) * 1000 }
  } finally {
    await gateway.remove()
    await sink.stop()
  }
}

export const httpBench = async (runs: number, count: number, warm: number): Promise<void> => {
  const bare: HttpFigure[] = []
  const ours: (HttpFigure & { endToEnd: number })[] = []
  for (let run = 0; run < runs; run++) {
    bare.push(await bareRoute(count, warm))
    ours.push(await postern(count, warm))
  }
  const ratio = ours.map((figure, i) => figure.rate / bare[i]!.rate)
  const tail = ours.map((figure, i) => figure.p99 / bare[i]!.p99)
  const rates = (figures: readonly HttpFigure[]) => spread(figures.map((figure) => figure.rate))
  const tails = (figures: readonly HttpFigure[]) =>
    spread(
      figures.map((figure) => figure.p99),
      1,
    )
  console.log(
    `\nPOST /v1/emails beside a bare hapi route, ${CONNECTIONS} connections: medians [min..max] of ${runs} runs, ${count} after ${warm}
    accepted        x${spread(ratio, 2)}   ${atLeast(0.45, median(ratio))}   ${rates(ours)}/s beside ${rates(bare)}/s
    at the upstream ${spread(ours.map((figure) => figure.endToEnd))}/s
    p99             x${spread(tail, 2)}   ${atMost(2.5, median(tail))}   ${tails(ours)} ms beside ${tails(bare)} ms`,
  )
}
