/** CSV both ways. */
import fc from 'fast-check'
import t from 'tap'
import { guarded, readCsv, readCsvLines, unguarded, writeCsv } from '../../src/record/csv.js'

t.test('reading', async (t) => {
  t.same(readCsv('a,b\r\nc,d\r\n'), [
    ['a', 'b'],
    ['c', 'd'],
  ])
  t.same(readCsv('\ufeffa , "b ""x"", c" ,\n\n d\n'), [['a', 'b "x", c', ''], ['d']])
  t.same(readCsv('a,"two\nlines"\n'), [['a', 'two\nlines']])
  t.same(readCsv('x@y.z,,import,2026-01-01T00:00:00Z,\r\n'), [
    ['x@y.z', '', 'import', '2026-01-01T00:00:00Z', ''],
  ])
  t.same(readCsv(''), [])
  t.same(readCsv('a,'), [['a', '']])
})

t.test('records know their lines', async (t) => {
  const lines = readCsvLines('a\r\n\r\n"two\nlines",x\nb\n').map(({ line, fields }) => [line, fields[0]])
  t.same(lines, [
    [1, 'a'],
    [3, 'two\nlines'],
    [5, 'b'],
  ])
})

t.test('what is written reads back', async (t) => {
  const cell = fc.string({ maxLength: 12 }).map((text) => text.trim())
  const records = fc.array(
    fc.tuple(
      cell.filter((text) => text !== '' && !text.startsWith('\ufeff')),
      cell,
    ),
    { maxLength: 5 },
  )
  fc.assert(fc.property(records, (rows) => t.same(readCsv(writeCsv(rows)), rows)))
})

t.test('no cell is a formula, and every cell comes back', async (t) => {
  for (const [cell, safe] of [
    ['=cmd()@x.y', "'=cmd()@x.y"],
    ["'=x", "''=x"],
    ['+1@x.y', "'+1@x.y"],
    ["o'neil@x.y", "o'neil@x.y"],
    ["'quoted'", "'quoted'"],
  ] as const) {
    t.equal(guarded(cell), safe)
    t.equal(unguarded(safe), cell)
  }
  const cell = fc.string({
    unit: fc.constantFrom("'", '=', '+', '-', '@', '\t', 'a', '"', ','),
    maxLength: 6,
  })
  fc.assert(
    fc.property(cell, (text) => !/^[=+\-@\t]/.test(guarded(text)) && unguarded(guarded(text)) === text),
  )
})
