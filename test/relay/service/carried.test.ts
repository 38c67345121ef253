/** Mail that a service takes: what is asked for, how it is signed, and that a connection serves several. */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { isSigned, readClaim, signingKey } from '../../../src/tenant/key.js'
import { mail, poolRow, startFlow, upstreamRow } from '../parts.js'
import { type Asked, json, ScriptedService } from './scripted.js'

const SECRET = 'abcdefghijklmnopqrstuvwxyz0123456789ABCD'

export const sesRow = (service: ScriptedService, change = {}) =>
  upstreamRow(443, {
    id: 'up_ses',
    service: 'ses',
    host: 'eu-west-1',
    tls: 'implicit',
    user: 'AKIAEXAMPLE',
    sealedPassword: SECRET,
    caFile: service.caFile,
    ...change,
  })

const mailgunRow = (service: ScriptedService) =>
  upstreamRow(443, {
    id: 'up_mailgun',
    service: 'mailgun',
    host: 'mg.example.com',
    tls: 'implicit',
    user: 'api',
    sealedPassword: 'key-0123456789',
    caFile: service.caFile,
  })

const taken = ({ body }: Asked): string =>
  json(200, { MessageId: `0100-${createHash('sha256').update(body).digest('hex').slice(0, 20)}` })

const flowFor = (t: Test, row: ReturnType<typeof sesRow>, service: ScriptedService, change = {}) => {
  const flow = startFlow([poolRow([row], change)], {
    endpoints: { [`${row.service}+https://${row.host}`]: service.url },
  })
  t.teardown(() => flow.stop())
  return flow
}

t.test('SES: envelope, message and signature', async (t) => {
  const service = await ScriptedService.start(t, taken)
  const { queue } = flowFor(t, sesRow(service), service)
  const raw = Buffer.from('From: Ä <a@bücher.example>\r\nSubject: hello\r\n\r\n.one\r\n')
  queue.hand(mail({ raw, from: '"Ä" <a@bücher.example>' }))
  await queue.settled(1)
  const [outcome] = queue.outcomes
  const [asked] = service.asked
  t.equal(asked?.target, '/v2/email/outbound-emails')
  const body = JSON.parse(String(asked?.body))
  t.strictSame(
    { ...body, Content: null },
    {
      FromEmailAddress: 'a@xn--bcher-kva.example',
      Destination: { ToAddresses: ['you@example.com'] },
      Content: null,
    },
    'the header of the message says nothing of who receives it, and the return path is their own',
  )
  t.equal(Buffer.from(body.Content.Raw.Data, 'base64').toString(), raw.toString(), 'octet by octet')
  const { target = '', rawHeaders = [] } = asked ?? {}
  const claim = readClaim({ method: 'POST', target, rawHeaders }, 'ses', Date.now())
  const hash = createHash('sha256').update(String(asked?.body)).digest('hex')
  t.match(claim, { accessKey: 'AKIAEXAMPLE', scope: /^\d{8}\/eu-west-1\/ses\/aws4_request$/ })
  t.ok(isSigned(claim, hash, signingKey(SECRET, claim.scope)))
  t.match(outcome, {
    seen: 'accepted',
    reply: { code: 250, text: /^Ok 0100-[0-9a-f]{20}$/ },
    mta: { upstreamId: 'up_ses', host: 'eu-west-1' },
    detail: { upstream_message_id: /^0100-[0-9a-f]{20}$/, tls: 'TLSv1.3', stage: 'dot' },
  })
  t.equal(queue.marks.length, 1)
})

t.test('SES: reports go to the one return path of a pool, and nowhere else', async (t) => {
  const service = await ScriptedService.start(t, taken)
  const { queue } = flowFor(t, sesRow(service), service, { returnPath: 'fixed' })
  const emailId = 'em_1'
  queue.hand(mail({ emailId }), mail({ emailId, address: 'two@example.com' }), mail({ nullSender: true }))
  await queue.settled(3)
  const bodies = service.asked.map(({ body }) => JSON.parse(String(body)))
  t.strictSame(
    bodies.map(({ Destination }) => Destination.ToAddresses).sort(),
    [['two@example.com'], ['you@example.com'], ['you@example.com']],
    'each recipient is asked for alone: one bad address would refuse them all',
  )
  t.strictSame(
    bodies.map((one) => one.FeedbackForwardingEmailAddress ?? null).sort(),
    ['fixed@bounces.test', 'fixed@bounces.test', null].sort(),
    'a report of ours wants none',
  )
})

t.test('Mailgun: a form with the message as a file', async (t) => {
  const service = await ScriptedService.start(t, () =>
    json(200, { id: '<20261127.1@mg.example.com>', message: 'Queued. Thank you.' }),
  )
  const { queue } = flowFor(t, mailgunRow(service), service)
  const raw = Buffer.from('From: a@example.com\r\nSubject: hello\r\n\r\nno end')
  queue.hand(mail({ raw }))
  await queue.settled(1)
  const [outcome] = queue.outcomes
  const [asked] = service.asked
  t.equal(asked?.target, '/v3/mg.example.com/messages.mime')
  t.equal(asked?.headers.authorization, `Basic ${Buffer.from('api:key-0123456789').toString('base64')}`)
  const form = await new Response(new Uint8Array(asked?.body ?? []), {
    headers: { 'content-type': asked?.headers['content-type'] ?? '' },
  }).formData()
  t.equal(form.get('to'), 'you@example.com')
  t.equal(await (form.get('message') as File).text(), raw.toString())
  t.match(outcome, {
    seen: 'accepted',
    detail: { upstream_message_id: '20261127.1@mg.example.com' },
  })
})

t.test('a connection serves one mail after another, and a large one goes out whole', async (t) => {
  const service = await ScriptedService.start(t, taken)
  const { queue } = flowFor(t, sesRow(service, { maxConnections: 1 }), service)
  const raw = Buffer.concat([Buffer.from('From: a@example.com\r\n\r\n'), Buffer.alloc(3_000_000, 'line\r\n')])
  for (let i = 0; i < 3; i++) {
    queue.hand(mail({ raw }))
    await queue.settled(i + 1)
  }
  t.strictSame(
    service.asked.map(({ connection }) => connection),
    [1, 1, 1],
  )
  for (const { body } of service.asked)
    t.ok(Buffer.from(JSON.parse(String(body)).Content.Raw.Data, 'base64').equals(raw))
  t.ok(queue.outcomes.every(({ seen }) => seen === 'accepted'))
})

t.test('what a service can not be given is not sent', async (t) => {
  const service = await ScriptedService.start(t, taken)
  const { queue } = flowFor(t, sesRow(service), service)
  queue.hand(
    mail({ address: '"a,b@evil.example"@example.com' }),
    mail({ address: 'ö@example.com', needsSmtpUtf8: true }),
    mail({ requireTls: true }),
  )
  await queue.settled(3)
  t.strictSame(service.asked, [])
  t.strictSame(queue.outcomes.map(({ seen, reply }) => `${seen} ${reply?.enhanced}`).sort(), [
    'rejected 5.3.3',
    'rejected 5.6.7',
    'rejected 5.7.30',
  ])
})
