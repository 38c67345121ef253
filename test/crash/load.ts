/**
 * Mail through both doors, without a pause, while the daemon comes and goes. What
 * was answered with 202 or 250 is noted; one mail in eight is so large that its
 * body is a file. Each mail says how long its body is, so that a short copy shows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import type { Postern } from '../parts/postern.js'

const LARGE = 91_000
const SMALL = 500

/** What the upstream keeps of a copy: whose it is, and whether all of it is there. */
export const digest = (raw: string): string => {
  const id = /^message-id:\s*<(em_[0-9a-z]{26})@/im.exec(raw)?.[1] ?? ''
  const size = Number(/^subject: crash (\d+)/im.exec(raw)?.[1] ?? 0)
  const body = raw.slice(raw.indexOf('\r\n\r\n')).replace(/=?\r\n/g, '')
  return `${id} ${body.length === size && !/[^x]/.test(body) ? 'whole' : 'short'}`
}

export interface LoadOptions {
  readonly http?: number
  readonly smtp?: number
  /** After each mail, in milliseconds. */
  readonly rest?: number
  /** Of the recipients. */
  readonly domain?: string
}

export class Load {
  readonly acknowledged = new Set<string>()
  /** Answers that were none of these: what was said, and when. Whoever met nobody is not among them. */
  readonly refusals: { readonly said: string; readonly at: number }[] = []
  /** How long small mails took to be answered with yes, in milliseconds. */
  readonly waits: number[] = []
  #running = true
  readonly #rest: number
  readonly #domain: string
  readonly #workers: Promise<void>[]

  constructor(
    private readonly postern: Postern,
    private readonly key: string,
    { http = 4, smtp = 2, rest = 0, domain = 'sink.test' }: LoadOptions = {},
  ) {
    this.#rest = rest
    this.#domain = domain
    this.#workers = Array.from({ length: http }, (_, worker) => this.#overHttp(worker))
    this.#workers.push(...Array.from({ length: smtp }, (_, worker) => this.#overSmtp(worker)))
  }

  async stop(): Promise<void> {
    this.#running = false
    await Promise.all(this.#workers)
  }

  async #overHttp(worker: number): Promise<void> {
    for (let n = 0; this.#running; n++) {
      const size = n % 8 === 7 ? LARGE : SMALL
      const body = {
        from: 'load@gw.test',
        to: `h${worker}-${n}@${this.#domain}`,
        subject: `crash ${size}`,
        text: 'x'.repeat(size),
      }
      const began = performance.now()
      // the daemon may be down
      const answer = await this.postern.api('POST', '/v1/emails', this.key, body).catch(() => null)
      if (answer?.status === 202) this.#acknowledge(answer.body.id, size, began)
      else {
        if (answer !== null) this.#refused(`${answer.status} ${answer.body?.code}`)
        await sleep(20)
      }
      if (this.#rest > 0) await sleep(this.#rest)
    }
  }

  #acknowledge(id: string, size: number, began: number): void {
    this.acknowledged.add(id)
    if (size === SMALL) this.waits.push(performance.now() - began)
  }

  #refused(said: string): void {
    this.refusals.push({ said, at: performance.now() })
  }

  async #overSmtp(worker: number): Promise<void> {
    for (let n = 0; this.#running; ) {
      const client = createTransport({
        host: '127.0.0.1',
        port: this.postern.ports.submission[0] ?? 0,
        requireTLS: true,
        tls: { rejectUnauthorized: false },
        auth: { user: 'x', pass: this.key },
        pool: true,
        maxConnections: 1,
        maxMessages: 50,
        connectionTimeout: 2_000,
        socketTimeout: 5_000,
      })
      client.on('error', () => {})
      try {
        while (this.#running) {
          const size = n % 8 === 7 ? LARGE : SMALL
          const began = performance.now()
          const lines = 'x'.repeat(size).replace(/.{500}/g, '$&\r\n')
          const { response } = await client.sendMail({
            envelope: { from: 'load@gw.test', to: `s${worker}-${n++}@${this.#domain}` },
            raw: `From: load@gw.test\r\nTo: x@sink.test\r\nSubject: crash ${size}\r\n\r\n${lines}\r\n`,
          })
          const id = /queued as (em_[0-9a-z]{26})/.exec(response)?.[1]
          if (id !== undefined) this.#acknowledge(id, size, began)
          if (this.#rest > 0) await sleep(this.#rest)
        }
      } catch (error) {
        const { response } = error as { readonly response?: string }
        if (response !== undefined) this.#refused(response)
        await sleep(20)
      }
      client.close()
    }
  }
}
