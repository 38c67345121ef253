/** What counting costs: on a database that is far each statement is a round trip, in a transaction that others wait for. */
import t from 'tap'
import { OTHER, SPANS, type StatisticsRow } from '../../../../src/store/port/statistics.js'
import type { Asking } from '../../../../src/store/sql/query.js'
import { addStatistics } from '../../../../src/store/sql/statistics.js'
import { T0 } from '../../fixture.js'
import { openWriterVerbs } from '../writer.js'

/** The same work, and how many statements it asks for. */
const counting = (work: Asking<unknown>) => {
  let statements = 0
  function* counted(): Asking<void> {
    let step = work.next()
    while (step.done !== true) {
      statements++
      step = work.next(yield step.value)
    }
  }
  return { work: counted(), statements: () => statements }
}

t.test('a part of the log with new domains alone takes some statements, not some for each', async (t) => {
  const { db, context, at } = openWriterVerbs(t)
  const sum = (span: number): number =>
    (db.prepare('SELECT counts FROM statistics WHERE span = ?').pluck().all(span) as string[])
      .map((counts) => (JSON.parse(counts) as number[])[1] ?? 0)
      .reduce((a, b) => a + b, 0)
  const fold = (from: number, n: number): number => {
    const rows = Array.from({ length: n }, (_, i) => `d${from + i}.test`).flatMap((value) =>
      SPANS.filter((span) => span !== 1).map((span): StatisticsRow => {
        const name = {
          workspaceId: at.workspace.id,
          mode: 'test',
          dimension: 'recipient_domain',
          value,
        } as const
        return { span, at: T0, ...name, counts: [0, 1] }
      }),
    )
    const { work, statements } = counting(addStatistics(rows))
    context.sql.ask(work)
    return statements()
  }
  t.ok(fold(0, 8) <= 6, 'few domains')
  for (const [from, n] of [
    [100, 500],
    [1_000, 500],
    [2_000, 500],
    [3_000, 500],
  ] as const) {
    const statements = fold(from, n)
    t.ok(statements <= 30, `${n} domains in ${statements} statements`)
  }
  const stored = db.prepare('SELECT count(*) FROM statistics WHERE span = 60 AND value = ?').pluck()
  t.equal(stored.get(OTHER), 1, 'there was no room for all')
  t.same([sum(60), sum(15)], [2_008, 2_008], 'nothing is lost')
})
