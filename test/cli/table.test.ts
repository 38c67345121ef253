/** Tables for people: aligned from the first row to the last, however many there are. */
import t from 'tap'
import { table } from '../../src/cli/terminal.js'

const plain = { bold: (text: string) => text } as Parameters<typeof table>[0]

t.test('columns stand under each other, beyond one piece', async (t) => {
  const rows = Array.from({ length: 700 }, (_, n) => [n === 650 ? 'the-longest-of-all' : `u${n}`, n, 'end'])
  const lines = table(plain, ['name', 'n', 'last'], rows).split('\n')
  t.equal(lines.length, 701)
  t.match(lines[0], /^NAME +N +LAST$/)
  t.match(lines[651], /^the-longest-of-all {2}650 +end$/)
  t.strictSame(
    new Set(lines.slice(1).map((line) => line.indexOf('end'))),
    new Set([lines[0]?.indexOf('LAST')]),
  )
})

t.test('nothing is an empty text; control characters are cut; colours count nothing', async (t) => {
  t.equal(table(plain, ['name'], []), '')
  const red = (text: string, column: number) => (column === 0 ? `\u001b[31m${text}\u001b[39m` : text)
  const lines = table(
    plain,
    ['a', 'b'],
    [
      ['x\u001b[2J\ny', 'one'],
      [null, 'two'],
    ],
    red,
  ).split('\n')
  t.strictSame(lines, ['A        B', '\u001b[31mx?[2J?y\u001b[39m  one', '\u001b[31m-\u001b[39m        two'])
})
