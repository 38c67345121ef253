/** A file is read from the store as its reader takes it: one that hardly reads costs no memory and keeps nobody waiting. */
import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { fill } from '../../bench/stored/pages.js'
import { signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

t.setTimeout(300_000)
/** More octets than the sockets between the two hold. */
const MAILS = 20_000
const PAGES = 20

const postern = await new Postern({ submission: [] }).start()
t.teardown(() => postern.remove())
await postern.stop()
await fill(postern, MAILS)
await postern.start()
const browser = await signedIn(postern)
const session = browser.cookie('postern_session') ?? ''

t.test('a slow reader', async (t) => {
  const ask = request(`${postern.url}/emails/export?time=all&format=ndjson`, {
    headers: { cookie: `postern_session=${session}` },
  })
  ask.end()
  const [answer] = await once(ask, 'response')
  t.equal(answer.statusCode, 200)
  await once(answer, 'readable')
  // a little at a time, and others are answered
  const begin = [answer.read(1_024)]
  for (let i = 0; i < PAGES; i++) {
    t.equal((await browser.visit('/emails')).status, 200)
    begin.push(answer.read(1_024))
  }
  const first = await postern.api('GET', '/v1/emails?to=u0@dest.test', session)
  const { id } = first.body.data[0]
  t.equal((await postern.api('POST', `/v1/emails/${id}/cancel`, session)).status, 200)
  const rest = await answer.toArray()
  const lines = Buffer.concat([...begin, ...rest].filter((chunk) => chunk !== null))
    .toString()
    .trimEnd()
    .split('\n')
  t.equal(lines.length, MAILS, 'the file is whole')
  t.match(JSON.parse(lines.at(-1) ?? ''), { id, status: 'canceled' }, 'its end was read when it was taken')
})
