/**
 * What goes wrong with a service, at each step, and what becomes of the mail. A clear answer is one; what says neither yes
 * nor no after the message was sent is the one window in which a mail may go out twice, as after the final dot of SMTP.
 */
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { hiding } from '../../../src/relay/dialogue/login.js'
import type { UpstreamRow } from '../../../src/store/port/tenants.js'
import { eventually } from '../../parts/eventually.js'
import { type FlowOptions, mail, poolRow, startFlow, upstreamRow } from '../parts.js'
import { UpstreamServer } from '../upstream-server.js'
import { json, ScriptedService } from './scripted.js'

const SECRET = 'canary-0123456789abcdef'

const rowOf = (service: ScriptedService, change = {}) =>
  upstreamRow(443, {
    ...{ id: 'up_ses', service: 'ses', host: 'eu-west-1', tls: 'implicit', user: 'AKIAEXAMPLE' },
    ...{ sealedPassword: SECRET, caFile: service.caFile },
    ...change,
  })

const start = (
  t: Test,
  service: ScriptedService,
  {
    row = {},
    others = [],
    ...more
  }: Partial<FlowOptions> & { readonly row?: object; readonly others?: readonly UpstreamRow[] } = {},
) => {
  const flow = startFlow([poolRow([rowOf(service, row), ...others])], {
    endpoints: { 'ses+https://eu-west-1': service.url, 'mailgun+https://mg.example.com': service.url },
    retry: [600_000],
    ...more,
  })
  t.teardown(() => flow.stop())
  return flow
}

const MAILGUN = { id: 'up_mailgun', service: 'mailgun', host: 'mg.example.com', user: 'api' } as const
const TAKEN = { MessageId: '0100-1' }
const error = (status: number, type: string, message = 'said', headers = {}): string =>
  json(status, { message }, { 'x-amzn-errortype': type, ...headers })

const HTML = (status: number): string =>
  `HTTP/1.1 ${status} Said\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>no</html>`

t.test('clear answers', async (t) => {
  const cases: readonly [name: string, answer: string, expected: object, row?: object][] = [
    [
      'refused',
      error(400, 'MessageRejected', 'Email address is not verified.'),
      { seen: 'rejected', reply: { code: 554, enhanced: '5.7.1', text: /^MessageRejected: Email/ } },
    ],
    [
      'malformed',
      error(400, 'BadRequestException:http://internal/'),
      { seen: 'rejected', reply: { code: 554, enhanced: '5.6.0', text: 'BadRequestException: said' } },
    ],
    [
      'type in the body',
      json(400, { __type: 'com.amazonaws.sesv2#MessageRejected', message: 'no' }),
      { seen: 'rejected' },
    ],
    ['too large', error(413, 'RequestEntityTooLargeException'), { seen: 'rejected', reply: { code: 552 } }],
    [
      'too fast',
      error(429, 'TooManyRequestsException'),
      { seen: 'postponed', detail: { ambiguous: undefined } },
    ],
    [
      'too fast, as others say it',
      error(400, 'ThrottlingException', 'Maximum sending rate exceeded.'),
      { seen: 'postponed' },
    ],
    [
      'wrong key',
      error(
        403,
        'SignatureDoesNotMatch',
        `your secret ${SECRET}, our ${Buffer.from(SECRET).toString('base64')}`,
      ),
      {
        seen: 'postponed',
        reply: { code: 535, text: 'SignatureDoesNotMatch: your secret …, our …' },
        detail: { stage: 'auth' },
      },
    ],
    ['an account at rest', error(400, 'SendingPausedException'), { seen: 'postponed', reply: { code: 535 } }],
    [
      'away for now',
      error(503, 'ServiceUnavailableException'),
      { seen: 'postponed', reply: { code: 451 }, detail: { ambiguous: undefined } },
    ],
    [
      'a redirect',
      `HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n`,
      { seen: 'postponed', reply: { text: /redirects, which is not followed/ } },
    ],
    [
      'a page in its place',
      HTML(404),
      { seen: 'postponed', reply: { text: /answered 404, and not as Amazon SES does/ } },
    ],
    ['a page that forbids', HTML(403), { seen: 'postponed', reply: { code: 535 } }],
    [
      'Mailgun refuses',
      json(400, { message: "'to' parameter is not a valid address" }),
      { seen: 'rejected', reply: { code: 554 } },
      MAILGUN,
    ],
    [
      'Mailgun knows no such key',
      'HTTP/1.1 401 Unauthorized\r\nContent-Length: 9\r\n\r\nForbidden',
      { seen: 'postponed', reply: { code: 535 } },
      MAILGUN,
    ],
    [
      'Mailgun knows no such domain',
      json(404, { message: 'Domain not found: mg.example.com' }),
      { seen: 'postponed', reply: { code: 535 } },
      MAILGUN,
    ],
    ['too fast for Mailgun', json(429, { message: 'slow down' }), { seen: 'postponed' }, MAILGUN],
  ]
  for (const [name, answer, expected, row = {}] of cases) {
    await t.test(name, async (t) => {
      const service = await ScriptedService.start(t, () => answer)
      const { queue } = start(t, service, { row })
      queue.hand(mail())
      await queue.settled(1)
      t.match(queue.outcomes[0], expected)
      t.notMatch(JSON.stringify(queue.outcomes), /canary|Y2FuYXJ5/)
      t.equal(service.asked.length, 1, 'it was asked once')
    })
  }
})

t.test('answers that say neither yes nor no', async (t) => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
  const cases: readonly [name: string, answer: ScriptedService['answer'], error: RegExp, row?: object][] = [
    ['nonsense', () => json(200, 'yes, surely'), /answered 200, and not as Amazon SES does/],
    ['a page', () => HTML(200), /answered 200/],
    ['another shape', () => json(200, { MessageId: ['a'] }), /answered 200/],
    ['an id that is none', () => json(200, { MessageId: 'a\r\nb' }), /answered 200/],
    ['202', () => json(202, TAKEN), /answered 202/],
    ['303', () => 'HTTP/1.1 303 See\r\nLocation: /\r\nContent-Length: 0\r\n\r\n', /answered 303/],
    [
      'an answer without end',
      () => (socket) => {
        socket.write(chunked)
        for (let i = 0; i < 80; i++) socket.write(`400\r\n${'x'.repeat(1024)}\r\n`)
      },
      /answered 200/,
    ],
    [
      'headers without end',
      () => (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${`X-Odd: ${'x'.repeat(500)}\r\n`.repeat(100)}`)
      },
      /Parse Error|header/i,
    ],
    [
      'broken in the middle',
      () => (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"MessageId":"0100-1"}`)
        setTimeout(() => socket.destroy(), 20)
      },
      /aborted|closed|hang up/,
    ],
    [
      'closed without a word',
      () => (socket) => {
        socket.end()
      },
      /closed|hang up/,
    ],
    [
      'reset',
      () => (socket) => {
        socket.destroy()
      },
      /closed|hang up|ECONNRESET/,
    ],
    ['no HTTP', () => '250 2.0.0 Ok\r\n\r\n', /Parse Error|Expected HTTP/i],
    ['silence', () => null, /no answer in time \(dot\)/],
    ['a gateway', () => HTML(502), /answered 502/],
    [
      'a failure inside',
      () => error(500, 'InternalServiceErrorException'),
      /answered 500 InternalServiceError/,
    ],
    ['Mailgun fails inside', () => json(500, { message: 'Internal' }), /answered 500 Internal/, MAILGUN],
    [
      'Mailgun has no id',
      () => json(200, { message: 'Queued' }),
      /answered 200, and not as Mailgun does/,
      MAILGUN,
    ],
  ]
  for (const [name, answer, words, row = {}] of cases) {
    await t.test(name, async (t) => {
      const service = await ScriptedService.start(t, answer)
      const { queue } = start(t, service, { row, timeouts: { dot: 300 } })
      queue.hand(mail(), mail({ ambiguous: 'hold', recipientId: 'rcpt_held', address: 'held@example.com' }))
      await queue.settled(2)
      for (const one of queue.outcomes) {
        t.match(one, {
          seen: 'postponed',
          reply: null,
          reason: 'ambiguous',
          detail: { error: words, ambiguous: true },
        })
        const isHeld = one.recipientId === 'rcpt_held'
        t.equal(one.retryAt === null, isHeld, 'a workspace says whether it is held')
      }
      t.equal(service.asked.length, 2, 'each was asked once, and not again')
    })
  }
})

t.test('a key of which no request can be made: another takes the mail, and it is our login', async (t) => {
  const service = await ScriptedService.start(t, () => json(200, TAKEN))
  const smtp = new UpstreamServer()
  const second = upstreamRow(await smtp.listen(), { priority: 1 })
  t.teardown(() => smtp.close())
  const { queue, pools } = start(t, service, { row: { user: '\u0410KIAEXAMPLE' }, others: [second] })
  for (let i = 0; i < 3; i++) {
    queue.hand(mail())
    await queue.settled(i + 1)
  }
  for (const one of queue.outcomes) t.match(one, { seen: 'accepted', mta: { upstreamId: second.id } })
  const [upstream] = pools.upstreams()
  t.match(upstream?.lastError, { stage: 'auth', message: /Invalid character/ })
  t.equal(upstream?.breaker.state, 'open')
  await eventually('its connections are given up', () => service.open.size === 0)
  t.strictSame(service.asked, [])
})

t.test('an answer that ends with the connection is whole', async (t) => {
  const closing = (head: string) => (): ((socket: TLSSocket) => void) => (socket) => {
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${head}\r\n${JSON.stringify(TAKEN)}`)
  }
  const service = await ScriptedService.start(t, () => null)
  const { queue } = start(t, service, { row: { maxConnections: 1 } })
  for (const [i, head] of ['', 'Connection: close\r\n', 'Content-Length: 22\r\n'].entries()) {
    service.answer = closing(head)
    queue.hand(mail())
    await queue.settled(i + 1)
    t.match(queue.outcomes[i], { seen: 'accepted', detail: { upstream_message_id: '0100-1' } }, head)
  }
  t.equal(service.connections, 3)
})

t.test('broken while the message is sent: it can not have the whole', async (t) => {
  const service = await ScriptedService.start(t, () => json(200, TAKEN))
  service.part = (socket, size) => void (size > 200_000 && socket.destroy())
  const { queue } = start(t, service)
  const raw = Buffer.concat([
    Buffer.from('From: a@example.com\r\n\r\n'),
    Buffer.alloc(20_000_000, 'line\r\n'),
  ])
  queue.hand(mail({ raw }))
  await queue.settled(1)
  t.match(queue.outcomes[0], {
    seen: 'postponed',
    reply: null,
    reason: 'connection',
    detail: { stage: 'body' },
  })
  t.notMatch(queue.outcomes[0]?.detail, { ambiguous: true })
})

t.test('an answer in the middle of the message', async (t) => {
  const raw = Buffer.concat([
    Buffer.from('From: a@example.com\r\n\r\n'),
    Buffer.alloc(20_000_000, 'line\r\n'),
  ])
  const answers = [
    [error(400, 'BadRequestException'), { seen: 'rejected' }],
    [
      json(200, TAKEN),
      { seen: 'postponed', reason: 'connection', detail: { error: /200 before the message/ } },
    ],
    [
      HTML(502),
      {
        seen: 'postponed',
        reason: 'connection',
        detail: { stage: 'body', error: /answered 502/, ambiguous: undefined },
      },
    ],
  ] as const
  for (const [answer, expected] of answers) {
    const service = await ScriptedService.start(t, () => null)
    const told = new Set<object>()
    service.part = (socket) => {
      if (!told.has(socket)) socket.write(answer)
      told.add(socket)
      socket.pause()
    }
    const { queue } = start(t, service)
    queue.hand(mail({ raw }))
    await queue.settled(1)
    t.match(queue.outcomes[0], expected)
  }
})

t.test(
  'nobody there, and a certificate of another: nothing was sent, and another member takes it',
  async (t) => {
    const service = await ScriptedService.start(t, () => json(200, TAKEN))
    const other = await ScriptedService.start(t, () => json(200, TAKEN))
    const smtp = new UpstreamServer()
    const port = await smtp.listen()
    t.teardown(() => smtp.close())
    const second = upstreamRow(port, { priority: 1 })
    for (const [url, caFile] of [
      ['https://127.0.0.1:1', service.caFile],
      [service.url, other.caFile],
      [service.url.replace('127.0.0.1', 'localhost'), service.caFile],
    ] as const) {
      const flow = startFlow([poolRow([rowOf(service, { caFile }), second])], {
        endpoints: { 'ses+https://eu-west-1': url },
      })
      flow.queue.hand(mail())
      await flow.queue.settled(1)
      t.match(flow.queue.outcomes[0], { seen: 'accepted', mta: { upstreamId: second.id } })
      t.match(flow.queue.outcomes[0]?.detail?.tried_before, /^eu-west-1:443 at (connect|tls): /)
      await flow.stop()
    }
    t.strictSame(service.asked, [])
  },
)

t.test('an account that is refused opens the breaker, and a probe of nothing closes it', async (t) => {
  const service = await ScriptedService.start(t, ({ body }) =>
    isGood
      ? String(body) === '{}'
        ? error(400, 'BadRequestException')
        : json(200, TAKEN)
      : error(403, 'InvalidClientTokenId'),
  )
  let isGood = false
  const { queue, pools } = start(t, service)
  for (let i = 0; i < 3; i++) {
    queue.hand(mail())
    await queue.settled(i + 1)
  }
  const [upstream] = pools.upstreams()
  t.equal(upstream?.breaker.state, 'open')
  t.match(upstream?.lastError, { stage: 'auth', message: /InvalidClientTokenId/ })
  await eventually('it is probed, and still refused', () =>
    service.asked.some(({ body }) => String(body) === '{}'),
  )
  t.equal(upstream?.breaker.state, 'open', 'a connection alone proves nothing')
  isGood = true
  upstream?.breaker.wake()
  queue.add(mail())
  await queue.settled(4)
  t.match(queue.outcomes[3], { seen: 'accepted' })
})

t.test('too fast: it rests as long as it asks for, and another takes the mail', async (t) => {
  let isBusy = true
  const service = await ScriptedService.start(t, () =>
    isBusy ? error(429, 'TooManyRequestsException', 'slow', { 'retry-after': '30' }) : json(200, TAKEN),
  )
  const smtp = new UpstreamServer()
  const second = upstreamRow(await smtp.listen(), { priority: 1 })
  t.teardown(() => smtp.close())
  const { queue, pools, flow } = start(t, service, { others: [second] })
  queue.hand(mail())
  await queue.settled(1)
  t.match(queue.outcomes[0], { seen: 'accepted', mta: { upstreamId: second.id } })
  const [upstream] = pools.upstreams()
  t.equal(upstream?.full, 'rate')
  t.notOk(upstream?.hasRoom())
  t.equal(upstream?.breaker.state, 'closed', 'it has not failed')
  t.strictSame(flow.slow(10), [], 'it says nothing about the domain of the recipient')
  isBusy = false
})

t.test(
  'a connection that was closed while it was idle is not used, and an answer too many ends it',
  async (t) => {
    const long = { 'keep-alive': 'timeout=6000' }
    const service = await ScriptedService.start(t, () => json(200, TAKEN, long))
    const { queue } = start(t, service, { row: { maxConnections: 1 }, idle: 6_000_000 })
    queue.hand(mail())
    await queue.settled(1)
    for (const socket of service.open) socket.end()
    await eventually('it is closed', () => service.open.size === 0)
    queue.hand(mail())
    await queue.settled(2)
    t.equal(service.connections, 2)
    service.answer = () => (socket) => {
      socket.write(json(200, TAKEN, long))
      setTimeout(() => socket.write(json(200, { MessageId: 'forged' })), 20)
    }
    queue.hand(mail())
    await queue.settled(3)
    await eventually('the connection is given up', () => service.open.size === 0)
    service.answer = () => json(200, { MessageId: 'right' })
    queue.hand(mail())
    await queue.settled(4)
    t.match(queue.outcomes[3]?.detail, { upstream_message_id: 'right' })
    service.answer = () => json(200, TAKEN, { connection: 'close' })
    queue.hand(mail())
    await queue.settled(5)
    queue.hand(mail())
    await queue.settled(6)
    t.ok(queue.outcomes.every(({ seen }) => seen === 'accepted'))
  },
)

t.test('leases that are lost, and an attempt that could not be written: nothing goes out', async (t) => {
  const service = await ScriptedService.start(t, () => json(200, TAKEN))
  const { queue } = start(t, service)
  queue.refuseMarks = true
  queue.hand(mail())
  await eventually('it is given back', () => queue.releases > 0)
  t.strictSame(service.asked, [])
  t.ok(hiding([SECRET])(SECRET) === '…')
})
