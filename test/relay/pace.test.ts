/** How far apart messages for the sandbox begin, on a clock that the test moves; and that live mail is heard of. */
import t from 'tap'
import { createGiveWay } from '../../src/base/give-way.js'
import { Pace } from '../../src/relay/lanes.js'

const begin = (took: number, isLive: boolean) => {
  const at = { ms: 0 }
  const way = createGiveWay(
    () => {},
    () => at.ms,
  )
  const pace = new Pace(way, () => at.ms)
  let begun = 0
  // each takes so long, and the next begins when it may
  for (; at.ms < 60_000; at.ms++) {
    if (isLive) way.live()
    while (pace.wait === 0 && begun < 100_000) {
      pace.begun()
      pace.ended(took)
      begun++
    }
  }
  return begun
}

t.test('without live mail nothing waits', async (t) => {
  t.equal(begin(20, false), 100_000)
})

t.test('beside live mail they are under way for a tenth of the time, however long each takes', async (t) => {
  for (const took of [5, 20, 80]) {
    const share = (begin(took, true) * took) / 8 / 60_000
    t.ok(share > 0.07 && share < 0.13, `${took} ms: ${share}`)
  }
})

t.test('one that waits for its recipient is no work', async (t) => {
  t.ok(begin(60_000, true) > 60 * 8)
})
