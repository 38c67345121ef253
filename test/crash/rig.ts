/**
 * A daemon under load, its upstream, and the books: every acknowledged id against
 * the upstream's copies and the API's answer. What may happen: a second copy of a
 * mail that was on the wire when the daemon died; its timeline then says so. What
 * may not: loss, a stuck mail, a short one, a lie.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { digest, Load } from './load.js'

export interface Books {
  readonly cycles: number
  readonly acknowledged: number
  /** Of all cycles, how many mails were acknowledged in the poorest. */
  readonly fewest: number
  readonly lost: readonly string[]
  readonly stuck: readonly string[]
  /** Told as bounced, though the upstream has it. */
  readonly wrong: readonly string[]
  readonly short: readonly string[]
  readonly duplicated: number
  /** Second copies whose timeline does not admit an ambiguous attempt. */
  readonly unexplained: readonly string[]
  /** Mails that wait for an operator, since nobody knows whether they were taken. */
  readonly held: number
  /** How the daemon ended, where it should have ended otherwise. */
  readonly otherEnds: readonly unknown[]
  readonly slowestStartMs: number
  /** Of a power cut: what the negative control had promised, and how much of it is gone. */
  readonly control?: { readonly acknowledged: number; readonly lost: number }
}

export interface RigOptions {
  readonly dataDir?: string
  readonly ambiguous?: 'hold'
  readonly random: () => number
}

/** In each cycle so many mails are acknowledged before anything breaks. */
export const LEAST = 10
const FINAL = ['sent', 'delivered', 'bounced']

export class Rig {
  readonly otherEnds: unknown[] = []
  #slowestStartMs = 0
  #cycles = 0
  #fewest = Number.POSITIVE_INFINITY

  private constructor(
    readonly postern: Postern,
    readonly load: Load,
    private readonly mx: PlainMx,
    private readonly key: string,
    private readonly options: RigOptions,
  ) {}

  static async start(options: RigOptions): Promise<Rig> {
    const mx = await new PlainMx(digest).start()
    const postern = new Postern({
      rate_limit: { per_minute: 1_000_000 },
      relay: { retry: ['1s'] },
      ...(options.dataDir !== undefined && { data_dir: options.dataDir }),
    })
    try {
      await postern.start()
      await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
      if (options.ambiguous) await postern.json('workspace', 'update', 'default', '--ambiguous', 'hold')
      const key = await postern.key('--rate-limit', '1000000')
      return new Rig(postern, new Load(postern, key), mx, key, options)
    } catch (error) {
      await postern.remove()
      await mx.stop()
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
    await this.postern.start()
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

  async #statuses(ids: readonly string[]): Promise<Map<string, string>> {
    const statuses = new Map<string, string>()
    let open = ids
    const ask = async (): Promise<boolean> => {
      for (let i = 0; i < open.length; i += 20)
        await Promise.all(
          open.slice(i, i + 20).map(async (id) => {
            const { body } = await this.postern.api('GET', `/v1/emails/${id}`, this.key)
            statuses.set(id, body?.status ?? 'unknown')
          }),
        )
      open = open.filter((id) => ![...FINAL, 'unknown'].includes(statuses.get(id) ?? ''))
      if (this.options.ambiguous === undefined) return open.length === 0
      const ambiguous = await Promise.all(open.map((id) => this.#isAmbiguous(id)))
      return ambiguous.every(Boolean)
    }
    // what is open then is stuck
    await eventually('all mail is settled', ask, { every: 200 }).catch(() => {})
    return statuses
  }

  async #isAmbiguous(id: string): Promise<boolean> {
    const { text } = await this.postern.api('GET', `/v1/emails/${id}/events?limit=100`, this.key)
    return text.includes('ambiguous')
  }

  async books(): Promise<Books> {
    await this.flows()
    await this.load.stop()
    const ids = [...this.load.acknowledged]
    const statuses = await this.#statuses(ids)
    const copies = new Map<string, number>()
    const short: string[] = []
    for (const copy of this.mx.messages) {
      const [id = '', whole = ''] = copy.split(' ')
      copies.set(id, (copies.get(id) ?? 0) + 1)
      if (whole !== 'whole') short.push(id)
    }
    const twice = [...copies].filter(([, n]) => n > 1).map(([id]) => id)
    const unexplained: string[] = []
    for (const id of twice) if (!(await this.#isAmbiguous(id))) unexplained.push(id)
    const open = ids.filter((id) => !FINAL.includes(statuses.get(id) ?? ''))
    const held = new Set<string>()
    if (this.options.ambiguous) for (const id of open) if (await this.#isAmbiguous(id)) held.add(id)
    return {
      cycles: this.#cycles,
      acknowledged: ids.length,
      fewest: this.#fewest,
      lost: ids.filter((id) => !copies.has(id) && statuses.get(id) !== 'bounced' && !held.has(id)),
      stuck: open.filter((id) => !held.has(id)),
      wrong: ids.filter((id) => copies.has(id) && statuses.get(id) === 'bounced'),
      short,
      duplicated: twice.length,
      unexplained,
      held: held.size,
      otherEnds: this.otherEnds,
      slowestStartMs: Math.round(this.#slowestStartMs),
    }
  }

  async remove(): Promise<void> {
    await this.load.stop()
    await this.postern.remove()
    await this.mx.stop()
  }
}

/** Every demand that is not met, in words. */
export const unmet = (books: Books, cycles: number): string[] => [
  ...(books.cycles < cycles ? [`${books.cycles} of ${cycles} cycles`] : []),
  ...(books.fewest < LEAST ? [`a cycle with ${books.fewest} acknowledged mails`] : []),
  ...(['lost', 'stuck', 'wrong', 'short', 'unexplained', 'otherEnds'] as const).flatMap((what) =>
    books[what].length > 0 ? [`${what}: ${books[what].slice(0, 10).join(' ')} (${books[what].length})`] : [],
  ),
]

/** A small deterministic random source, so that a seed names a run. */
export const seeded = (seed: number) => (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}
