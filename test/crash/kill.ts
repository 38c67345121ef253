/**
 * kill -9 under mixed load, again and again, then the books are balanced: every
 * acknowledged id against the upstream's copies and the API's answer. What may
 * happen: a second copy of a mail whose final dot had been sent when the daemon
 * died; its timeline then says so. What may not: loss, a stuck mail, a lie.
 */
import { createTransport } from 'nodemailer'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'

export interface Balance {
  readonly acknowledged: number
  readonly lost: readonly string[]
  readonly stuck: readonly string[]
  readonly wrong: readonly string[]
  readonly duplicated: readonly string[]
  /** Duplicates whose timeline does not admit an ambiguous attempt. */
  readonly unexplained: readonly string[]
  readonly slowestStartMs: number
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A small deterministic random source, so that a seed names a run. */
export const seeded = (seed: number) => (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

class Load {
  readonly acknowledged = new Set<string>()
  private running = true
  private readonly workers: Promise<void>[] = []

  constructor(
    private readonly postern: Postern,
    private readonly key: string,
  ) {
    for (let i = 0; i < 6; i++) this.workers.push(this.overHttp(i))
    for (let i = 0; i < 4; i++) this.workers.push(this.overSmtp(i))
  }

  async stop(): Promise<void> {
    this.running = false
    await Promise.all(this.workers)
  }

  private async overHttp(worker: number): Promise<void> {
    for (let n = 0; this.running; n++) {
      try {
        const answer = await this.postern.api('POST', '/v1/emails', this.key, {
          from: 'load@gw.test',
          to: `h${worker}-${n}@sink.test`,
          subject: 'crash',
          text: 'x'.repeat(500),
        })
        if (answer.status === 202) this.acknowledged.add(answer.body.id)
        else await sleep(20)
      } catch {
        await sleep(20) // the daemon is down
      }
    }
  }

  private async overSmtp(worker: number): Promise<void> {
    for (let n = 0; this.running; ) {
      const client = createTransport({
        host: '127.0.0.1',
        port: this.postern.ports.submission[0] ?? 0,
        requireTLS: true,
        tls: { rejectUnauthorized: false },
        auth: { user: 'x', pass: this.key },
        pool: true,
        maxConnections: 1,
        maxMessages: 50,
        connectionTimeout: 2000,
        socketTimeout: 5000,
      })
      client.on('error', () => {})
      try {
        while (this.running) {
          const sent = await client.sendMail({
            envelope: { from: 'load@gw.test', to: `s${worker}-${n++}@sink.test` },
            raw: `From: load@gw.test\r\nTo: x@sink.test\r\nSubject: crash\r\n\r\n${'y'.repeat(500)}\r\n`,
          })
          const id = /queued as (em_[0-9a-z]{26})/.exec(sent.response)?.[1]
          if (id !== undefined) this.acknowledged.add(id)
        }
      } catch {
        await sleep(20)
      }
      client.close()
    }
  }
}

const countCopies = (mx: PlainMx): Map<string, number> => {
  const copies = new Map<string, number>()
  for (const raw of mx.messages) {
    const id = /^message-id:\s*<(em_[0-9a-z]{26})@/im.exec(raw)?.[1]
    if (id !== undefined) copies.set(id, (copies.get(id) ?? 0) + 1)
  }
  return copies
}

const settleAll = async (
  postern: Postern,
  key: string,
  ids: readonly string[],
): Promise<Map<string, string>> => {
  const statuses = new Map<string, string>()
  const end = Date.now() + 60_000
  let open = [...ids]
  while (open.length > 0 && Date.now() < end) {
    const next: string[] = []
    for (let i = 0; i < open.length; i += 20) {
      await Promise.all(
        open.slice(i, i + 20).map(async (id) => {
          const { body } = await postern.api('GET', `/v1/emails/${id}`, key)
          statuses.set(id, body?.status ?? 'unknown')
          if (!['sent', 'delivered', 'bounced', 'unknown'].includes(body?.status)) next.push(id)
        }),
      )
    }
    open = next
    if (open.length > 0) await sleep(200)
  }
  return statuses
}

const admitsAmbiguity = async (postern: Postern, key: string, id: string): Promise<boolean> => {
  const { text } = await postern.api('GET', `/v1/emails/${id}/events?limit=100`, key)
  return text.includes('ambiguous')
}

export const killCycles = async (
  cycles: number,
  seed: number,
  say: (line: string) => void,
): Promise<Balance> => {
  const random = seeded(seed)
  const mx = await new PlainMx().start()
  const postern = new Postern({ rate_limit: { per_minute: 1_000_000 }, relay: { retry: ['1s'] } })
  let slowestStartMs = 0
  try {
    await postern.start()
    await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
    const key = await postern.key('--rate-limit', '1000000')
    const load = new Load(postern, key)
    for (let cycle = 0; cycle < cycles; cycle++) {
      await sleep(300 + random() * 900)
      await postern.stop('SIGKILL')
      const began = performance.now()
      await postern.start()
      slowestStartMs = Math.max(slowestStartMs, performance.now() - began)
      say(
        `cycle ${cycle + 1}: ${load.acknowledged.size} acknowledged, ${mx.messages.length} copies at the upstream`,
      )
    }
    await sleep(300)
    await load.stop()
    const ids = [...load.acknowledged]
    const statuses = await settleAll(postern, key, ids)
    const copies = countCopies(mx)
    const duplicated = [...copies].filter(([, n]) => n > 1).map(([id]) => id)
    const unexplained: string[] = []
    for (const id of duplicated) if (!(await admitsAmbiguity(postern, key, id))) unexplained.push(id)
    return {
      acknowledged: ids.length,
      lost: ids.filter((id) => !copies.has(id) && statuses.get(id) !== 'bounced'),
      stuck: ids.filter((id) => !['sent', 'delivered', 'bounced'].includes(statuses.get(id) ?? '')),
      wrong: ids.filter((id) => copies.has(id) && statuses.get(id) === 'bounced'),
      duplicated,
      unexplained,
      slowestStartMs,
    }
  } finally {
    await postern.remove()
    await mx.stop()
  }
}
