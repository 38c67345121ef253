import t from 'tap'
import { observed } from '../../src/lifecycle/facts.js'
import { Journal, type JournalQueue } from '../../src/relay/journal.js'

const mark = (n: number) => ({ recipientId: `r${n}`, leaseGen: 1, attempt: 1, upstreamId: 'up', at: 0 })
const outcome = (n: number) => observed({ recipientId: `r${n}`, seen: 'accepted', at: 0, source: 'smtp' })

/** A queue whose commits take a turn of the event loop each. */
const slowQueue = () => {
  const rounds: string[] = []
  const later = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(() => resolve(value)))
  const queue: JournalQueue = {
    attempting: (marks) => {
      rounds.push(`mark ${marks.length}`)
      return later(marks.map(({ recipientId }) => recipientId !== 'r13'))
    },
    settle: (outcomes) => {
      rounds.push(`settle ${outcomes.length}`)
      return later([])
    },
    release: (leases, dueAt) => {
      rounds.push(`release ${leases.length} at ${dueAt}`)
      return later(undefined)
    },
  }
  return { queue, rounds }
}

t.test('what comes during a round shares the next one; outcomes go before marks', async (t) => {
  const { queue, rounds } = slowQueue()
  const journal = new Journal(queue, () => t.fail('no trouble'))
  const first = journal.mark(mark(0))
  await new Promise((resolve) => setImmediate(resolve))
  const others = [1, 2, 3].map((n) => journal.mark(mark(n)))
  journal.settle(outcome(4))
  journal.settle(outcome(5))
  journal.release(mark(6), 10)
  // a pace has fractions of a millisecond, and columns of times have none
  journal.release(mark(7), 9.25)
  journal.release(mark(8), 20)
  t.same(await Promise.all([first, ...others]), [true, true, true, true])
  await journal.flush()
  t.same(rounds, ['mark 1', 'settle 2', 'mark 3', 'release 2 at 10', 'release 1 at 20'])
  t.equal(await journal.mark(mark(13)), false)
})

t.test('no wake-up is lost, however the calls fall', async (t) => {
  const { queue } = slowQueue()
  const journal = new Journal(queue, () => t.fail('no trouble'))
  const chain = async (n: number): Promise<void> => {
    for (let i = 0; i < 50; i++) {
      for (let j = 0; j < (i * n) % 5; j++) await null
      t.equal(await journal.mark(mark(n)), true)
      journal.settle(outcome(n))
    }
  }
  await Promise.all([1, 2, 3, 4].map(chain))
  await journal.flush()
  t.equal(journal.pending, 0)
})

t.test('while an outcome can not be written nobody goes, and it is kept', async (t) => {
  const { queue } = slowQueue()
  let broken = true
  let trouble = 0
  const settle: JournalQueue['settle'] = (outcomes) =>
    broken ? Promise.reject(new Error('no')) : queue.settle(outcomes)
  const journal = new Journal({ ...queue, settle }, () => trouble++)
  journal.settle(outcome(1))
  t.equal(await journal.mark(mark(2)), false)
  t.equal(journal.pending, 1)
  broken = false
  t.equal(await journal.mark(mark(3)), true)
  t.equal(journal.pending, 0)
  t.equal(trouble, 1)
})

t.test('what waits for a commit moves with the clock', async (t) => {
  const { queue, rounds } = slowQueue()
  const settled: unknown[] = []
  const settle = queue.settle.bind(queue)
  const journal = new Journal(
    {
      ...queue,
      settle: (outcomes) => {
        settled.push(...outcomes.map(({ at, retryAt }) => [at, retryAt]))
        return settle(outcomes)
      },
    },
    () => t.fail('no trouble'),
  )
  const first = journal.mark(mark(0))
  await null
  await null
  journal.settle({ ...outcome(1), seen: 'postponed', at: 1_000, retryAt: 5_000 })
  journal.settle({ ...outcome(2), at: 1_000 })
  journal.release(mark(3), 10)
  journal.stepped(60_000)
  journal.settle({ ...outcome(4), seen: 'postponed', at: 61_000, retryAt: 65_000 })
  await first
  await journal.flush()
  t.same(settled, [
    [61_000, 65_000],
    [61_000, null],
    [61_000, 65_000],
  ])
  t.same(rounds.at(-1), 'release 1 at 60010')
})
