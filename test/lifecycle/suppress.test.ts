import t from 'tap'
import {
  endSuppressed,
  entriesAgainst,
  entryDetail,
  isSuppressing,
  listsAgainst,
  partsOfEntry,
} from '../../src/lifecycle/suppress.js'

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
  t.match(endSuppressed('rcpt_1', 'ana@x.test', 5), {
    ...{ recipientId: 'rcpt_1', seen: 'suppressed', at: 5, source: 'system' },
    ...{ reason: 'suppressed', trusted: true, leaseGen: null, detail: null },
  })
})

t.test('what a list may hold against somebody', async (t) => {
  t.same(entriesAgainst('ana@x.test'), ['ana@x.test', '*@x.test'])
  t.same(entriesAgainst('"a@b#c"@x.test'), ['"a@b#c"@x.test', '*@x.test'])
  t.same(entriesAgainst('a#b@x.test#news'), ['a#b@x.test', '*@x.test', 'a#b@x.test#news'])
  t.same(partsOfEntry('a#b@x.test#news'), { email: 'a#b@x.test', mailingList: 'news' })
  t.same(partsOfEntry('a#b@x.test'), { email: 'a#b@x.test', mailingList: null })
  t.same(['ana@x.test', '*@x.test', 'ana@x.test#news', null].map(entryDetail), [
    null,
    { entry: '*@x.test' },
    { list: 'news' },
    null,
  ])
})
