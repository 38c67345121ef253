/**
 * What few mails have stands in the packed column of its row; rows of 0.9.2 have it in another place.
 */
import t from 'tap'
import { readLists } from '../../../src/store/sql/mails.js'

t.test('an extra is read as it is written now, and as 0.9.2 wrote it', async (t) => {
  const now = readLists({ lists: '{"extras":{"resent_from":"em_1"},"replyTo":["a@b.test"]}' })
  t.same([now.extras, now.replyTo], [{ resent_from: 'em_1' }, ['a@b.test']])
  const before = readLists({ lists: '{"resentFrom":"em_2"}' })
  t.same(before.extras, { resent_from: 'em_2' })
  t.notOk('resentFrom' in before, 'and it is not said twice')
  t.notOk('extras' in readLists({ lists: '{}' }))
})
