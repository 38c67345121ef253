import t from 'tap'
import { endSuppressed, isSuppressing, listsAgainst } from '../../src/lifecycle/suppress.js'

const MAIL = {
  source: 'api',
  ignoresSuppressions: false,
  accountId: 'acc_1',
  workspaceId: 'ws_1',
  mode: 'live',
} as const

t.test('which lists a mail goes by', async (t) => {
  t.same(listsAgainst(MAIL), ['ws_1', 'acc_1'])
  t.same(listsAgainst({ ...MAIL, source: 'smtp' }), ['ws_1', 'acc_1'])
  t.same(
    listsAgainst({ ...MAIL, mode: 'test' }),
    ['ws_1/test'],
    'a test silences nobody, and nobody silences it',
  )
  t.same(listsAgainst({ ...MAIL, ignoresSuppressions: true }), [])
  t.same(listsAgainst({ ...MAIL, source: 'system' }), [])
})

t.test('until it expires', async (t) => {
  t.same(
    [null, 11, 10, 9].map((at) => isSuppressing(at, 10)),
    [true, true, false, false],
  )
})

t.test('the end of it', async (t) => {
  t.match(endSuppressed('rcpt_1', 5), {
    ...{ recipientId: 'rcpt_1', seen: 'suppressed', at: 5, source: 'system' },
    ...{ reason: 'suppressed', trusted: true, leaseGen: null },
  })
})
