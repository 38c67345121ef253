/**
 * A daemon under load, its upstream, and the books: every acknowledged id against
 * the upstream's copies and the API's answer. What may happen: a second copy of a
 * mail that was on the wire when the daemon died; its timeline then says so. What
 * may not: loss, a stuck mail, a short one, a lie.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { generate } from 'selfsigned'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { type Balance, balanceOf, few, wrongIn } from './balance.js'
import { digest, Load } from './load.js'

export interface Books extends Balance {
  readonly cycles: number
  /** Of all cycles, how many mails were acknowledged in the poorest. */
  readonly fewest: number
  /** How the daemon ended, where it should have ended otherwise. */
  readonly otherEnds: readonly unknown[]
  readonly slowestStartMs: number
  /** What follows the log has missed, or seen twice. */
  readonly uncounted?: readonly string[]
  /** Of a power cut: what the negative control had promised, and how much of it is gone. */
  readonly control?: { readonly acknowledged: number; readonly lost: number }
}

export interface RigOptions {
  readonly dataDir?: string
  readonly ambiguous?: 'hold'
  readonly random: () => number
  /** Of every start. */
  readonly env?: NodeJS.ProcessEnv
  readonly settings?: Readonly<Record<string, unknown>>
  /** So many, each with TLS; else one without. */
  readonly tlsUpstreams?: number
  /** Takes a message that an upstream got and that is none of the load. */
  readonly takes?: (raw: string) => boolean
}

/** What all of them got is in `copies`. */
const upstreams = async (
  { tlsUpstreams: count = 0, takes }: RigOptions,
  copies: string[],
): Promise<PlainMx[]> => {
  const keep = (raw: string): string => {
    if (takes?.(raw) !== true) copies.push(digest(raw))
    return ''
  }
  if (count === 0) return [await new PlainMx(keep).start()]
  const pair = await generate([{ name: 'commonName', value: '127.0.0.1' }], { keySize: 2048 })
  const made = Array.from({ length: count }, () =>
    new PlainMx(keep, { key: pair.private, cert: pair.cert }).start(),
  )
  return Promise.all(made)
}

/** In each cycle so many mails are acknowledged before anything breaks. */
export const LEAST = 10

export class Rig {
  readonly otherEnds: unknown[] = []
  #slowestStartMs = 0
  #cycles = 0
  #fewest = Number.POSITIVE_INFINITY

  private constructor(
    readonly postern: Postern,
    readonly load: Load,
    readonly mxs: readonly PlainMx[],
    private readonly copies: readonly string[],
    readonly key: string,
    private readonly options: RigOptions,
  ) {}

  static async start(options: RigOptions): Promise<Rig> {
    const { tlsUpstreams = 0 } = options
    const copies: string[] = []
    const mxs = await upstreams(options, copies)
    const postern = new Postern({
      rate_limit: { per_minute: 1_000_000 },
      relay: { retry: ['1s'] },
      ...(options.dataDir !== undefined && { data_dir: options.dataDir }),
      ...options.settings,
    })
    try {
      await postern.start(options.env)
      const tls = tlsUpstreams > 0 ? 'required' : 'none'
      await postern.route(...mxs.map(({ port }) => `smtp://127.0.0.1:${port}?tls=${tls}`))
      if (options.ambiguous) await postern.json('workspace', 'update', 'default', '--ambiguous', 'hold')
      const key = await postern.key('--rate-limit', '1000000')
      return new Rig(postern, new Load(postern, key), mxs, copies, key, options)
    } catch (error) {
      await postern.remove()
      await Promise.all(mxs.map((mx) => mx.stop()))
      throw error
    }
  }

  /** Something breaks, again and again, each time after mail was acknowledged; `breaks` leaves a daemon that runs. */
  async cycles(count: number, breaks: (cycle: number) => Promise<void>): Promise<void> {
    for (let cycle = 0; cycle < count; cycle++) {
      const before = this.load.acknowledged.size
      await this.flows()
      await sleep(this.options.random() * 300) // when it breaks is the seed's choice
      await breaks(cycle)
      this.#cycles++
      this.#fewest = Math.min(this.#fewest, this.load.acknowledged.size - before)
    }
  }

  /** Mail is acknowledged now. */
  async flows(): Promise<void> {
    const before = this.load.acknowledged.size
    const seen = () => ({
      acknowledged: this.load.acknowledged.size - before,
      output: this.postern.output.slice(-5),
    })
    await eventually(`${LEAST} mails acknowledged`, () => this.load.acknowledged.size >= before + LEAST, {
      seen,
    })
  }

  async restart(): Promise<void> {
    const began = performance.now()
    await this.postern.start(this.options.env)
    this.#slowestStartMs = Math.max(this.#slowestStartMs, performance.now() - began)
  }

  /** Waits for its end, which must be this one. */
  async ends(wanted: number | null): Promise<void> {
    let end: unknown = 'still runs'
    const wait = this.postern.ended.then((code) => {
      end = code
    })
    await Promise.race([wait, sleep(120_000, undefined, { ref: false })])
    if (end !== wanted) this.otherEnds.push(end)
    if (end === 'still runs') await this.postern.stop('SIGKILL')
  }

  async books(): Promise<Books> {
    await this.flows()
    await this.load.stop()
    const { postern, key } = this
    const balance = await balanceOf({
      ids: [...this.load.acknowledged],
      copies: this.copies,
      ask: (path) => postern.api('GET', path, key),
      isHolding: this.options.ambiguous !== undefined,
    })
    return {
      ...balance,
      cycles: this.#cycles,
      fewest: this.#fewest,
      otherEnds: this.otherEnds,
      slowestStartMs: Math.round(this.#slowestStartMs),
    }
  }

  async remove(): Promise<void> {
    await this.load.stop()
    await this.postern.remove()
    await Promise.all(this.mxs.map((mx) => mx.stop()))
  }
}

/** Every demand that is not met, in words. */
export const unmet = (books: Books, cycles: number): string[] => [
  ...(books.cycles < cycles ? [`${books.cycles} of ${cycles} cycles`] : []),
  ...(books.fewest < LEAST ? [`a cycle with ${books.fewest} acknowledged mails`] : []),
  ...wrongIn(books),
  ...few('otherEnds', books.otherEnds),
  ...few('uncounted', books.uncounted ?? []),
]

/** A small deterministic random source, so that a seed names a run. */
export const seeded = (seed: number) => (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}
