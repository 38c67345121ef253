/** Every fault that is made under load, a few times, in each run of the tests; the full tier is `npm run crash`. */
import t from 'tap'
import { startRelaying } from './relaying.js'
import { type Books, unmet } from './rig.js'
import { judgePower } from './rows.js'
import { crash, tier } from './tier.js'

tier({ kill: 5, power: 3, io: 3, term: 2, second: 1, descriptors: 1, reload: 1 })

t.test('what the books must not show', async (t) => {
  const good: Books = {
    cycles: 2,
    acknowledged: 30,
    fewest: 12,
    lost: [],
    givenUp: [],
    stuck: [],
    wrong: [],
    short: [],
    duplicated: 1,
    unexplained: [],
    held: 0,
    otherEnds: [],
    slowestStartMs: 1,
  }
  t.same(unmet(good, 2), [])
  t.same(unmet(good, 3), ['2 of 3 cycles'])
  t.same(unmet({ ...good, fewest: 0 }, 2), ['a cycle with 0 acknowledged mails'])
  for (const what of ['lost', 'givenUp', 'stuck', 'wrong', 'short', 'unexplained', 'otherEnds', 'uncounted'])
    t.same(unmet({ ...good, [what]: ['em_1'] }, 2), [`${what}: em_1 (1)`])
  const control = { acknowledged: 5, lost: 0 }
  const power = { ...good, control }
  t.match(judgePower(power, 2), { unmet: [/the control lost nothing/] })
  t.match(judgePower({ ...power, control: { ...control, lost: 1 } }, 2), { unmet: [] })
  t.match(judgePower('no disk', 2), { leftOut: 'no disk' })
})

t.test('a point of the relay is passed so many times', async (t) => {
  const { mx, postern } = await startRelaying(t)
  const key = await postern.key()
  await postern.stop()
  await postern.start({ POSTERN_CRASH_AT: 'relay.before-data:3' })
  const mail = { from: 'a@gw.test', to: 'b@sink.test', subject: 'crash 1', text: 'x' }
  for (let sent = 1; sent <= 2; sent++) {
    const { body } = await postern.api('POST', '/v1/emails', key, mail)
    await postern.until(key, body.id, ['sent'])
  }
  t.equal(mx.messages.length, 2)
  await postern.api('POST', '/v1/emails', key, mail)
  t.equal(await postern.ended, null, 'the third ends it')
  t.equal(mx.messages.length, 2, 'and was not handed over')
})

t.test('a row that does not exist', async (t) => {
  t.match(await crash('--rows', 'flood'), { code: 64, stderr: /^no such row: flood; there are kill,/ })
})
