import t from 'tap'
import { crashFacts, scrub } from '../../src/base/crash.js'

t.test('secrets and addresses are cut out', async (t) => {
  for (const [said, left] of [
    ['key svc_live_abcdefghijkl refused', 'key svc_[cut] refused'],
    ['postgres://me:hunter2@db/x', /^postgres:\/\/me:\[cut\]@db\/x$|^\[address\]$/],
    ['Authorization: Bearer abcdefghijkl', /^Authorization: \[cut\]/],
    ['AUTH PLAIN AGFwaWtleQBzdmM=', 'AUTH PLAIN [cut]'],
    ['password=hunter2 wrong', 'password=[cut] wrong'],
    ['no mailbox bob@example.com', 'no mailbox [address]'],
    ['Cannot read properties of undefined', 'Cannot read properties of undefined'],
  ] as const) {
    t.match(scrub(said), left)
    t.notMatch(scrub(said), /hunter2|abcdefghijkl|AGFw|bob/)
  }
})

t.test('the frames stay', async (t) => {
  const facts = crashFacts(Object.assign(new TypeError('x'), { code: 'E_X' }))
  t.match(facts, { error: 'TypeError: x', code: 'E_X', stack: /crash\.test/ })
  t.strictSame(crashFacts('svc_test_abcdefghijkl'), { error: 'svc_[cut]' })
})
