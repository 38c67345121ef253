/** A record as an array and back: places follow from names. */
import t from 'tap'
import { flat, unpacking } from '../../../src/store/sql/flat.js'

interface Point {
  readonly x: number
  readonly y: number | null
  readonly name?: string
}

const POINT = flat<Point>()([['y', 'x']], {
  name: ({ name }) => name ?? 'nameless',
})

t.test('there and back, in the order in which it is said', async (t) => {
  const point = { x: 1, y: null }
  t.same(POINT.names, ['y', 'x', 'name'])
  t.strictSame(POINT.pack(point), [null, 1, 'nameless'])
  t.strictSame(POINT.unpack(POINT.pack(point)), { y: null, x: 1, name: 'nameless' })
  t.equal(POINT.pack(point)[POINT.at.x], 1)
})

t.test('several in one array, and what the database gave', async (t) => {
  const all = [
    { x: 1, y: 2 },
    { x: 3, y: 4, name: 'b' },
  ].flatMap(POINT.pack)
  t.equal(all.length, 2 * POINT.names.length)
  t.strictSame(POINT.unpackAt(all, POINT.names.length), { y: 4, x: 3, name: 'b' })
  t.strictSame(unpacking(['id', 'size'])(['em_1', 9]), { id: 'em_1', size: 9 })
})
