/** What a page of a list has shown, while several writers fill it. */
import t from 'tap'
import { readSeen, seenMark, seenNow } from '../../../../src/store/sql/pages.js'

t.test('rows of a writer that has left are not passed over by a page that ends below them', async (t) => {
  // writer 2 was behind, gave a row at 55 and left; the page ended at 52, with what others gave
  const before = { upTo: 60, behind: [[2, 40]] as const }
  const frontiers = [
    { n: 0, frontier: 60, lives: true },
    { n: 2, frontier: 58, lives: false },
  ]
  t.same(seenNow(before, frontiers, 52), { upTo: 60, behind: [[2, 52]] })
  t.same(seenNow(before, frontiers, 58).behind, [], 'all of it was shown')
  t.same(seenNow(before, frontiers, 99).behind, [])
  t.same(
    seenNow({ upTo: 60, behind: [] }, frontiers, 52).behind,
    [],
    'what was shown before is not shown again',
  )
})

t.test('who is behind, in a mark', async (t) => {
  const seen = { upTo: 60, behind: [[2, 52] as const] }
  t.same(readSeen(seenMark(seen)), seen)
  t.equal(readSeen('x'), null)
})
