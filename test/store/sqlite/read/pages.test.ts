/** A page that SQLite merges of branches and ranges is the page of all their rows. */
import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { Page } from '../../../../src/lifecycle/page.js'
import { listOfBranches, pageOf } from '../../../../src/store/sql/pages.js'
import { atOnce } from '../../../../src/store/sql/query.js'
import { openWriter, prepareFile } from '../../../../src/store/sqlite/connect.js'
import { createStatements } from '../../../../src/store/sqlite/statements.js'
import { pageOf as lawful } from '../../../model/page.js'

const BRANCHES = [0, 1, 2] as const
/** Nothing stands between the place above a row and the next one. */
const whole = (mark: string): string => {
  const [ord, above] = mark.split('.')
  return String(Number(ord) + (above === undefined ? 0 : 1))
}
const place = fc.integer({ min: 1, max: 40 })

t.test('pages of a list', async (t) => {
  const db = openWriter(prepareFile(join(t.testdir(), 'data')))
  t.teardown(() => db.close())
  db.exec('CREATE TABLE things (ord INTEGER PRIMARY KEY, branch INTEGER, sure INTEGER)')
  const insert = db.prepare('INSERT OR IGNORE INTO things VALUES (?, ?, 1)')
  const sql = createStatements(db)
  const branches = BRANCHES.map((n) => ({ from: 'things', ord: 'ord', where: 'branch = ?', params: [n] }))
  const list = (ranges?: readonly { from: number; to: number }[]) =>
    listOfBranches(branches, { from: 'things WHERE true', params: [] }, ranges)

  const page = fc.record<Page>({
    limit: fc.integer({ min: 1, max: 9 }),
    direction: fc.constantFrom('older', 'newer'),
    anchor: fc.option(place.map(String)),
    countUpTo: fc.nat(12),
  })
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(place, fc.constantFrom(0, 1, 2, 3)), { selector: ([ord]) => ord }),
      fc.option(fc.uniqueArray(place, { minLength: 4, maxLength: 4 }), { freq: 3 }),
      page,
      (rows, cuts, page) => {
        db.exec('DELETE FROM things')
        for (const row of rows) insert.run(...row)
        const [a = 0, b = 0, c = 0, d = 0] = [...(cuts ?? [])].sort((x, y) => x - y)
        const ranges =
          cuts === null
            ? undefined
            : [
                { from: a, to: b },
                { from: c, to: d },
              ]
        const isIn = (ord: number) => ranges?.some(({ from, to }) => ord >= from && ord < to) ?? true
        // the fourth is of no branch
        const all = rows.filter(([ord, branch]) => branch < 3 && isIn(ord)).map(([ord]) => ({ ord }))
        const wanted = lawful(all, page, ({ ord }) => ord)
        const found = sql.ask(pageOf(list(ranges), page, (ord: number) => atOnce(() => ord)))
        deepStrictEqual(found, { ...wanted, older: whole(wanted.older), newer: whole(wanted.newer) })
      },
    ),
    { numRuns: 500 },
  )
  t.pass('500 pages')
})
