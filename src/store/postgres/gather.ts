/**
 * NAME      gather - calls that come together become one
 * DESCRIPTION
 *   No timer: a lone call waits for nobody, and a crowd shares a round trip and an fsync. A batch that fails
 *   for what is in it is halved until the call that is at fault stands alone; the others are stored.
 */
import { Fault } from '../../base/fault.js'
import { failureOf } from './failure.js'
import { patience } from './run.js'

interface Waiting<Call, Answer> {
  readonly call: Call
  /** How long it will wait for a database that is away. */
  readonly until: number
  resolve(answer: Answer): void
  reject(error: unknown): void
}

interface Gathering<Call, Answer> {
  /** All or none of them; an answer for each. */
  run(calls: readonly Call[], until: number): Promise<readonly Answer[]>
  inTurn(work: () => Promise<void>): Promise<void>
  /** What a call weighs; a batch has no more than `most`, unless it is one call. */
  weigh(call: Call): number
  readonly most: number
}

export const gather = <Call, Answer>({ run, inTurn, weigh, most }: Gathering<Call, Answer>) => {
  const waiting: Waiting<Call, Answer>[] = []
  let isAsked = false

  const take = (): Waiting<Call, Answer>[] => {
    let weight = 0
    let n = 0
    for (const { call } of waiting) {
      weight += weigh(call)
      if (n > 0 && weight > most) break
      n += 1
    }
    return waiting.splice(0, n)
  }

  const settle = async (batch: readonly Waiting<Call, Answer>[]): Promise<void> => {
    try {
      const answers = await run(
        batch.map(({ call }) => call),
        Math.min(...batch.map(({ until }) => until)),
      )
      for (const [i, one] of batch.entries()) one.resolve(answers[i] as Answer)
    } catch (error) {
      if (batch.length === 1 || error instanceof Fault || failureOf(error) !== 'verb') {
        for (const one of batch) one.reject(error)
        return
      }
      const middle = batch.length >> 1
      await settle(batch.slice(0, middle))
      await settle(batch.slice(middle))
    }
  }

  const ask = (): void => {
    if (isAsked || waiting.length === 0) return
    isAsked = true
    void inTurn(async () => {
      isAsked = false
      const batch = take()
      ask()
      await settle(batch)
    })
  }

  return (call: Call): Promise<Answer> =>
    new Promise((resolve, reject) => {
      waiting.push({ call, until: patience(), resolve, reject })
      ask()
    })
}
