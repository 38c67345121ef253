import t, { type Test } from 'tap'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { type UpstreamScript, UpstreamServer } from './upstream-server.js'

const upstream = async (t: Test, script: UpstreamScript = {}) => {
  const server = new UpstreamServer(script)
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, port }
}

t.test('a mail goes out, journaled before and settled after', async (t) => {
  const { server, port } = await upstream(t)
  const { queue, flow, stop } = startFlow([poolRow([upstreamRow(port)])])
  const one = mail()
  queue.add(one)
  await queue.settled(1)
  t.match(server.received, [{ mail: `MAIL FROM:<b1${one.recipientId}@bounces.test>` }])
  t.match(
    server.received[0]?.rcpt[0],
    /^RCPT TO:<you@example.com> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;you@example.com$/,
  )
  t.equal(server.received[0]?.wire, one.raw?.toString())
  t.same(queue.log, [`mark ${one.recipientId}`, `settle ${one.recipientId}`])
  t.match(queue.outcomes[0], {
    seen: 'accepted',
    source: 'smtp',
    attempt: 1,
    reply: { code: 250, enhanced: '2.0.0' },
    detail: { stage: 'dot', tls: null },
    mta: { upstreamId: `up_${port}` },
  })
  t.equal(queue.status(one.recipientId), 'sent')
  await stop()
  t.equal(flow.stats.accepted, 1)
})
