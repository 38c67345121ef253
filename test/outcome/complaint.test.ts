/** What recipients say of our mail to their provider. */
import t from 'tap'
import { WORKSPACE } from '../relay/store-parts.js'
import { arf } from './mails.js'
import { eventsOf, setUp, statuses } from './parts.js'

t.test('complaints', async (t) => {
  for (const [type, suppressed] of [
    ['abuse', true],
    ['fraud', true],
    ['not-spam', false],
    ['auth-failure', false],
    ['opt-out', false],
  ] as const) {
    const { store, mail, path, record } = await setUp(t)
    t.match(await record(path, arf(type)), { kind: 'arf', tier: 'T1', suppressed }, type)
    t.equal(
      (await store.suppression(WORKSPACE, 'a@example.com'))?.origin,
      suppressed ? 'complaint' : undefined,
    )
    t.same(await statuses(store, mail), ['sent', 'sent'])
    const [event] = await eventsOf(store, mail)
    t.match(event, {
      type: suppressed ? 'email.complained' : 'email.reported',
      source: 'arf',
      applied: suppressed,
      reason: type,
      detail: suppressed ? { suppression: 'added' } : { unapplied: 'not_a_complaint' },
    })
    t.match(await record(path, arf(type)), { suppressed: false }, 'twice is once')
    t.equal((await eventsOf(store, mail)).filter(({ source }) => source === 'arf').length, 1)
  }
  const { store, mail, path, record } = await setUp(t)
  const about = (address: string): Buffer =>
    Buffer.from(
      arf('abuse')
        .toString()
        .replace(/Feedback-Type: abuse/, `$&\r\nOriginal-Rcpt-To: ${address}`),
    )
  t.match(await record(path, about('b@example.com')), { suppressed: false })
  t.match((await eventsOf(store, mail))[0], {
    type: 'email.complained',
    applied: false,
    detail: { unapplied: 'other_recipient' },
  })
  t.match(await record(path, about('redacted@isp.test')), { suppressed: true }, 'a name blacked out')
})
