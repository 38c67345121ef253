/** The place of an endpoint never passes an event without an answer, whatever comes in whatever order. */
import fc from 'fast-check'
import t from 'tap'
import { createPlace, type Taken } from '../../../src/webhook/poster.js'

t.test('the place is the first unanswered event, and goes on when it is answered', async (t) => {
  const place = createPlace('0')
  const [a, b] = [place.take('1'), place.take('2')]
  place.pass('5')
  t.equal(place.mark, '0')
  place.answer(b)
  t.equal(place.mark, '0', 'a later answer moves nothing')
  t.equal(place.open, 2)
  place.answer(a)
  t.equal(place.mark, '5', 'what was passed over goes with it')
  t.equal(place.open, 0)
  place.pass('9')
  t.equal(place.mark, '9')
})

interface Move {
  readonly kind: 'take' | 'pass' | 'answer'
  /** Which of the open ones is answered. */
  readonly nth: number
}

const moves = fc.array(
  fc.record<Move>({ kind: fc.constantFrom('take', 'pass', 'answer'), nth: fc.nat(30) }),
  { maxLength: 400 },
)

t.test('any interleaving of answers', async (t) => {
  fc.assert(
    fc.property(moves, (all) => {
      const place = createPlace('0')
      let read = 0
      const open: { readonly at: number; readonly taken: Taken }[] = []
      for (const move of all) {
        if (move.kind === 'take') open.push({ at: ++read, taken: place.take(String(read)) })
        else if (move.kind === 'pass') place.pass(String(++read))
        else if (open.length > 0) {
          const [one] = open.splice(move.nth % open.length, 1)
          if (one !== undefined) place.answer(one.taken)
        }
        const firstOpen = Math.min(...open.map(({ at }) => at))
        const expected = open.length === 0 ? read : firstOpen - 1
        if (Number(place.mark) !== expected) throw new Error(`${place.mark} instead of ${expected}`)
      }
    }),
    { numRuns: 500 },
  )
  t.pass('500 runs')
})

t.test('a long queue is let go of', async (t) => {
  const place = createPlace('0')
  const taken = Array.from({ length: 5_000 }, (_, i) => place.take(String(i + 1)))
  for (const one of taken.slice(0, 4_999)) place.answer(one)
  t.equal(place.mark, '4999')
  t.equal(place.open, 1)
  place.pass('9000')
  t.equal(place.mark, '4999')
})
