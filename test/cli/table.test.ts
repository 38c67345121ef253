/** Tables for people: columns under each other by what a terminal shows, on one page, however many rows there are. */
import t from 'tap'
import { fields, type Paint, tableDrawer, tableOf, widthOf, wrapped } from '../../src/cli/table.js'

const paintOf = (width: number): Paint =>
  ({ width, bold: String, dim: String, red: (text: string) => `\u001b[31m${text}\u001b[39m` }) as never
const wide = paintOf(Number.POSITIVE_INFINITY)
const RED = { paint: (paint: Paint, text: string) => paint.red(text) }

t.test('a text is as wide as a terminal shows it', async (t) => {
  const cases: readonly (readonly [string, number])[] = [
    ['plain', 5],
    ['\u001b[31mred\u001b[39m', 3],
    ['日本', 4],
    ['한국어', 6],
    ['ｆｕｌｌ', 8],
    ['e\u0301tude', 5],
    ['नि', 1],
    ['a\u200bb', 2],
    ['👍🏽 ok', 5],
    ['👨‍👩‍👧', 2],
    ['☎️', 2],
    ['Ürümqi', 6],
  ]
  for (const [text, width] of cases) t.equal(widthOf(text), width, text)
})

t.test('columns stand under each other', async (t) => {
  const table = tableOf<{ name: string; n: number }>([
    ['name', 'name'],
    ['n', 'n', RED],
    ['last', () => 'end'],
  ])
  const rows = Array.from({ length: 700 }, (_, n) => ({ name: ['u', '日本', 'e\u0301'][n % 3] ?? '', n }))
  const lines = table(wide, rows).split('\n')
  t.equal(lines.length, 701)
  t.match(lines[0], /^NAME {2}N +LAST$/)
  const ends = lines.slice(1).map((line) => widthOf(line.slice(0, line.indexOf('end'))))
  t.strictSame(new Set(ends), new Set([lines[0]?.indexOf('LAST')]))
})

t.test('nothing is an empty text; control characters are cut; colours count nothing', async (t) => {
  const table = tableOf<{ a: string | null; b: string }>([
    ['a', 'a', RED],
    ['b', 'b'],
  ])
  t.equal(table(wide, []), '')
  const lines = table(wide, [
    { a: 'x\u001b[2J\ny', b: 'one' },
    { a: null, b: 'two' },
  ]).split('\n')
  t.strictSame(lines, ['A        B', '\u001b[31mx?[2J?y\u001b[39m  one', '\u001b[31m-\u001b[39m        two'])
})

t.test('on a page nothing is cut off: words wrap, then columns go on in the next line', async (t) => {
  const columns = [
    ['id', 'id'],
    ['says', 'says'],
    ['end', 'end'],
  ] as const
  const row = { id: 'x'.repeat(29), says: 'the mailbox is full, and has been for a long time now', end: 'no' }
  const wraps = tableOf<typeof row>(columns)(paintOf(60), [row]).split('\n')
  t.match(wraps[0], /^ID +SAYS +END$/)
  t.match(wraps[1], /^x{29} {2}the mailbox is full, and {2,}no$/)
  t.match(wraps[2], /^ {31}has been for a long time$/)
  const flows = tableOf<typeof row>(columns)(paintOf(40), [row]).split('\n')
  t.strictSame(flows.slice(0, 3), ['ID', '  SAYS', '  END'])
  for (const line of [...wraps, ...flows]) t.ok(widthOf(line) <= 60)
  for (const line of flows) t.ok(widthOf(line) <= 40)
  t.equal(flows.slice(3).join(' ').replace(/\s+/g, ' '), `${row.id} ${row.says} ${row.end}`)
  t.strictSame(wrapped('日本語日本語', 5), ['日本', '語日', '本語'])
  t.strictSame(fields(paintOf(30), [['why', 'one two three four five six seven']]).split('\n'), [
    'why  one two three four five',
    '     six seven',
  ])
})

t.test(
  'piece by piece: a wider cell widens its column from there on, and the head stands once',
  async (t) => {
    const draw = tableDrawer<{ a: string }>(wide, [
      ['a', 'a'],
      ['b', () => 'b'],
    ])
    t.equal(draw([{ a: 'x' }]), 'A  B\nx  b')
    t.equal(draw([{ a: 'wide' }, { a: 'x' }]), 'wide  b\nx     b')
  },
)
