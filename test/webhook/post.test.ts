/** One post against a real endpoint: what is sent, what counts as success, and what is kept of the exchange. */
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { createDialler } from '../../src/base/dial.js'
import { newSigningSecret } from '../../src/webhook/formats.js'
import { createPost, type PostTarget } from '../../src/webhook/post.js'
import { eventually } from '../parts/eventually.js'
import { answer, receiver } from '../parts/receiver.js'

const secret = newSigningSecret()
const own = { Authorization: 'Bearer hush', 'x-env': 'eu' }

const posting = async (t: Test, timeoutMs = 15_000) => {
  const end = await receiver(t)
  const dialler = createDialler({ allow: ['127.0.0.0/8'], ownPorts: () => [], timeoutMs })
  t.teardown(() => dialler.close())
  const target: PostTarget = {
    ...{
      url: `http://127.0.0.1:${end.port}/hook`,
      format: 'standard',
      auth: null,
      headers: own,
      secrets: [secret],
    },
  }
  const post = createPost(dialler, systemClock)
  return { end, dialler, send: (body = '{"a":"ü"}') => post(target, { id: 'evt_1', body }) }
}

t.test('what is sent, and what is kept of it', async (t) => {
  const { end, send } = await posting(t)
  end.behave = answer(202, 'taken')
  const posted = await send()
  t.match(posted, { ok: true, status: 202, answer: 'taken', cause: null, retryAfter: null })
  const [got] = end.received
  t.match(got, {
    path: '/hook',
    body: '{"a":"ü"}',
    headers: { authorization: 'Bearer hush', 'x-env': 'eu', 'content-type': 'application/json' },
  })
  t.match(got?.headers['user-agent'], /^Postern/)
  t.strictSame(new Webhook(secret).verify(got?.body ?? '', got?.headers as Record<string, string>), {
    a: 'ü',
  })
  t.match(posted.requestHeaders, { Authorization: '(hidden)', 'x-env': '(hidden)', 'webhook-id': 'evt_1' })
  t.equal(posted.requestHeaders['webhook-signature'], got?.headers['webhook-signature'])
  t.notMatch(JSON.stringify(posted), 'hush')
  t.type(posted.ms, 'number')
})

t.test('anything but 2xx has failed, with its cause', async (t) => {
  const { end, send } = await posting(t)
  const cases = [
    [answer(500, 'oops'), { status: 500, answer: 'oops', cause: 'answered 500 Internal Server Error' }],
    [answer(404), { status: 404, answer: '', cause: 'answered 404 Not Found' }],
    [answer(410), { status: 410, cause: 'answered 410 Gone: it wants no more posts' }],
    [answer(599), { status: 599, cause: 'answered 599' }],
    [answer(304), { status: 304, cause: 'answered 304 Not Modified' }],
    [
      answer(302, '', { location: 'http://169.254.169.254/' }),
      { status: 302, cause: 'redirected to http://169.254.169.254/, we do not follow' },
    ],
  ] as const
  for (const [behave, expected] of cases) {
    end.behave = behave
    t.match(await send(), { ok: false, ...expected })
  }
})

t.test('Retry-After, in seconds and as a date', async (t) => {
  const { end, send } = await posting(t)
  const after = async (text: string) => {
    end.behave = answer(503, '', { 'retry-after': text })
    return (await send()).retryAfter
  }
  t.equal(await after('120'), 120)
  t.equal(await after('0'), 0)
  t.equal(await after('Wed, 21 Oct 2015 07:28:00 GMT'), 0)
  const later = await after(new Date(Date.now() + 600_000).toUTCString())
  t.ok(later !== null && later > 500 && later <= 600)
  for (const text of ['-1', 'soon', '1.5', '']) t.equal(await after(text), null, text)
})

t.test('a kilobyte of the answer is kept, as text', async (t) => {
  const { end, send } = await posting(t)
  end.behave = answer(200, `${'x'.repeat(1023)}üüü`)
  t.equal((await send()).answer, 'x'.repeat(1023), 'no half characters')
  end.behave = (response) => response.end(Buffer.from([0, 255, 65]))
  t.equal((await send()).answer, '\ufffd\ufffdA')
})

t.test('what never answers has failed, too; only our own stopping is no verdict', async (t) => {
  const { end, send, dialler } = await posting(t, 300)
  end.behave = () => {}
  t.match(await send(), { ok: false, status: null, answer: null, cause: /no answer within 0.3 s/ })
  end.behave = (response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write('.'), 10)
    response.on('close', () => clearInterval(drip))
  }
  t.match(await send(), { ok: false, status: 200, cause: /answer did not end/ })
  end.behave = (response) => response.socket?.resetAndDestroy()
  t.match(await send(), { ok: false, status: null, cause: /without an answer/ })
  end.behave = () => {}
  const last = send().then(
    () => 'told',
    (error: Error) => error.name,
  )
  await eventually('it is there', () => end.received.length === 4)
  await dialler.close()
  t.equal(await last, 'DialError')
})
