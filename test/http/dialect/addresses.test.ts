/** Several addresses in one text: cut as a plain reference cuts them, in one pass over whatever comes. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { addressesIn } from '../../../src/http/dialect/dialect.js'

/** What is meant, for short texts: it tries all over again for each quote that is never closed. */
const ITEMS = /(?:"(?:[^"\\]|\\.)*"|<[^<>]*>|\([^()]*\)|[^,])+/g
const reference = (text: string): readonly string[] =>
  (text.match(ITEMS) ?? []).map((one) => one.trim()).filter((one) => one !== '')

t.test('commas within quotes, brackets and comments part nothing', async () => {
  const letter = fc.constantFrom(...'"\\,<>() a@', '\n', '\u2028', '\\"', '😀')
  fc.assert(
    fc.property(fc.string({ unit: letter, maxLength: 40 }), (text) =>
      isDeepStrictEqual(addressesIn(text), reference(text)),
    ),
    { numRuns: 3_000 },
  )
})

t.test('long texts of openings without an end', async (t) => {
  for (const opening of ['\\"', '"\\', '<', '(', '<(', '"<', '\\\\"', '"\\\n', '<"\\"', ','])
    t.ok(addressesIn(`"${opening.repeat(1_000_000 / opening.length)}`).length <= 1, JSON.stringify(opening))
  t.equal(addressesIn('x'.repeat(30_000_000)).length, 1)
})
