/** The cursor codec: what was written reads back, and nothing else does. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../src/base/fault.js'
import { CursorCodec, filterHash, type ListCursor } from '../../src/http/list.js'

const codec = new CursorCodec(Buffer.alloc(32, 7))
const BOUND = ['emails', 'acct_1', '', 'live']
const CURSOR: ListCursor = {
  direction: 'older',
  limit: 20,
  anchor: '900719925474099',
  filters: filterHash({ status: 'sent' }),
}

const refused = (text: string, bound = BOUND): boolean => {
  try {
    codec.read(text, bound)
    return false
  } catch (error) {
    return error instanceof Fault && error.code === 'validation.cursor_invalid'
  }
}

t.test('reads back', async (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom('older' as const, 'newer' as const),
      fc.integer({ min: 1, max: 100 }),
      fc.option(fc.stringMatching(/^[0-9]{1,16}$/)),
      (direction, limit, anchor) => {
        const cursor = { ...CURSOR, direction, limit, anchor }
        const read = codec.read(codec.write(cursor, BOUND), BOUND)
        t.strictSame({ ...read, filters: [...read.filters] }, { ...cursor, filters: [...cursor.filters] })
      },
    ),
    { numRuns: 50 },
  )
})

t.test('every flipped bit, every missing or added character is noticed', async (t) => {
  const text = codec.write(CURSOR, BOUND)
  const bytes = Buffer.from(text)
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    if (!refused(flipped.toString('latin1'))) t.fail(`bit ${bit}`)
  }
  for (let i = 0; i < text.length; i++) {
    for (const letter of 'Aa0-_=') {
      if (letter !== text[i] && !refused(text.slice(0, i) + letter + text.slice(i + 1)))
        t.fail(`${letter} at ${i}`)
    }
    if (!refused(text.slice(0, i) + text.slice(i + 1))) t.fail(`without ${i}`)
  }
  for (const junk of ['=', '==', '!', 'A', '\n', ' ', '=!?']) t.ok(refused(text + junk), JSON.stringify(junk))
})

t.test('nobody else can use it', async (t) => {
  const text = codec.write(CURSOR, BOUND)
  for (let i = 0; i < BOUND.length; i++) {
    t.ok(refused(text, BOUND.with(i, 'other')), `bound part ${i}`)
  }
  const others = new CursorCodec(Buffer.alloc(32, 8))
  t.throws(() => others.read(text, BOUND))
})

t.test('any text at all is refused without another error', async (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.base64String().map((text) => `v1_${text}`),
      ),
      (text) => {
        t.ok(refused(text))
      },
    ),
    { numRuns: 300 },
  )
})

t.test('filters count by meaning', async (t) => {
  t.strictSame(filterHash({ a: 'x', b: 1, c: null }), filterHash({ b: 1, a: 'x' }))
  t.notSame(filterHash({ a: '1' }), filterHash({ a: 1 }))
  t.notSame(filterHash({ a: 'x' }), filterHash({ b: 'x' }))
})
