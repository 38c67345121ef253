/** Every category has a name at SES and at Postmark; only what is dead is `Permanent`. */
import t from 'tap'
import { bounceTypesOf, CATEGORIES } from '../../../src/mail/report/category.js'

t.test('categories', async (t) => {
  for (const [category, { severity }] of Object.entries(CATEGORIES)) {
    const { ses, postmark } = bounceTypesOf(category)
    t.equal(ses.type === 'Permanent', severity === 'hard', category)
    t.not(postmark, '')
  }
  t.match(bounceTypesOf('unknown_user'), {
    ses: { type: 'Permanent', sub_type: 'NoEmail' },
    postmark: 'HardBounce',
  })
  t.equal(bounceTypesOf('authentication').postmark, 'DMARCPolicy')
})

t.test('reasons of our own, and none', async (t) => {
  t.equal(bounceTypesOf('suppressed').ses.type, 'Permanent')
  t.equal(bounceTypesOf('lifetime').postmark, 'Transient')
  for (const reason of [null, 'toString', 'workspace_deleted'])
    t.equal(bounceTypesOf(reason).ses.type, 'Undetermined')
})
