import t from 'tap'
import { countSends } from '../../src/lifecycle/accept.js'

t.test('all of it fits, or none', async (t) => {
  t.same(countSends(0, 3, 3), { allowed: true, used: 3 })
  t.same(countSends(1, 3, 3), { allowed: false, used: 1 })
  t.same(countSends(3, 0, 3), { allowed: true, used: 3 })
  t.same(countSends(4, 0, 3), { allowed: false, used: 4 }, 'the limit was lowered')
})
