/** A destination that wants few messages at once gets few, and the others do not notice. */
import t from 'tap'
import { mail, poolRow, startFlow, upstreamRow } from '../parts.js'
import { UpstreamServer } from '../upstream-server.js'

t.test('slows down for one domain only', async (t) => {
  let busy = 0
  let refused = 0
  const server = new UpstreamServer({
    extensions: ['8BITMIME'],
    act: (stage, line) => {
      if (stage !== 'rcpt' || !line.includes('@busy.example')) return undefined
      if (busy >= 2) {
        refused++
        return '451 4.7.0 Too many concurrent connections for busy.example'
      }
      busy++
      return undefined
    },
    hold: (stage, go) => {
      if (stage !== 'dot') return false
      setTimeout(() => {
        busy = Math.max(0, busy - 1)
        go()
      }, 5)
      return true
    },
  })
  const port = await server.listen()
  const flow = startFlow([poolRow([upstreamRow(port, { maxConnections: 16 })])])
  t.teardown(async () => {
    await flow.stop()
    await server.close()
  })
  const to = (count: number, domain: string) =>
    Array.from({ length: count }, (_, i) => mail({ address: `u${i}@${domain}` }))
  const many = to(60, 'busy.example')
  const few = to(20, 'calm.example')
  flow.queue.add(...many, ...few)
  await flow.queue.until(() => few.every(({ recipientId }) => flow.queue.status(recipientId) === 'sent'))
  await flow.queue.settled(80)
  const postponed = flow.queue.outcomes.filter(({ seen }) => seen === 'postponed').length
  t.equal(postponed, refused)
  t.ok(refused > 0 && refused < 30, `${refused} of 60 were refused`)
  t.ok(flow.logged.includes('slowed down'))
})
