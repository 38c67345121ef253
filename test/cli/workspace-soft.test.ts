/** After how many soft bounces an address is suppressed, as it is written and read. */
import t from 'tap'
import { softLimitsIn, softLimitsText } from '../../src/cli/workspace.js'
import { openDesk } from './desk.js'

t.test('written, and read', async (t) => {
  t.equal(softLimitsIn(undefined), undefined)
  t.same(softLimitsIn('none'), {})
  const limits = softLimitsIn('mailbox_full=8/30d, suspended=3/0d')
  t.same(limits, { mailbox_full: { bounces: 8, days: 30 }, suspended: { bounces: 3, days: 0 } })
  t.equal(softLimitsText(limits ?? {}), 'suspended=3/0d, mailbox_full=8/30d')
  t.equal(softLimitsText({}), 'never')
  for (const wrong of [
    '',
    'mailbox_full',
    'spam=8/30d',
    'mailbox_full=0/3d',
    'mailbox_full=8/366d',
    'x=1/1d',
  ])
    t.throws(() => softLimitsIn(wrong), /--suppress-soft/, wrong)
})

t.test('of a workspace', async (t) => {
  const desk = openDesk(t)
  t.match(await desk.json(['workspace', 'show', 'default']), { suppress_soft: {} })
  const update = ['workspace', 'update', 'default', '--suppress-soft']
  t.match(await desk.json([...update, 'mailbox_full=8/30d']), {
    suppress_soft: { mailbox_full: { bounces: 8, days: 30 } },
  })
  t.match(await desk.run([...update, 'often']), { code: 64 })
  t.match(await desk.json([...update, 'none']), { suppress_soft: {} })
})
