/** An order over all that a search finds, given right after the mail was taken: none of it is left out. */
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

const postern = new Postern({ rate_limit: { per_minute: 100_000 } })
t.teardown(() => postern.remove())

t.test('what was taken a moment ago is met', async (t) => {
  await postern.start()
  const key = await postern.key()
  const mail = {
    from: 'a@acme.test',
    to: 'b@example.com',
    subject: 'later',
    text: 'x',
    scheduled_at: 'in 1 day',
  }
  const many = Array.from({ length: 100 }, () => mail)
  for (let n = 0; n < 5; n++) await postern.api('POST', '/v1/emails/batch', key, many)
  const order = { action: 'cancel', reason: 'a mistake', q: 'subject:later' }
  const begun = await postern.api('POST', '/v1/emails/bulk', key, order)
  t.match(begun, { status: 202, body: { matched: 500 } })
  const done = await eventually('the job ends', async () => {
    const { body } = await postern.api('GET', `/v1/jobs/${begun.body.id}`, key)
    return body.state === 'done' && body
  })
  t.match(done, { done: 500, skipped: 0, failed: 0 })
})
