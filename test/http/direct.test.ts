/** Plain sends are answered before hapi: octet for octet as hapi answers them, and whatever is not plain goes there. */
import { connect } from 'node:net'
import pino from 'pino'
import t from 'tap'
import { OutageError } from '../../src/base/fault.js'
import { createDirect } from '../../src/http/direct.js'
import { eventually } from '../parts/eventually.js'
import { type Kit, MAIL, openKit } from './kit.js'
import { raw } from './raw.js'

interface Side {
  readonly kit: Kit
  /** Its log, as text. */
  readonly lines: string[]
  /** What became of each request: taken, not taken, or handed on later. */
  readonly ways: string[]
}

/** With a limit of 1,000 sends a minute, at the begin of one. */
const open = async (isDirect: boolean): Promise<Side> => {
  const lines: string[] = []
  const ways: string[] = []
  const noted: typeof createDirect = (deps) => {
    const direct = createDirect(deps)
    return {
      ...direct,
      take(req, res, handOn) {
        const at = ways.push('') - 1
        const taken = direct.take(req, res, () => {
          ways[at] = 'handed on'
          handOn()
        })
        if (ways[at] === '') ways[at] = taken ? 'taken' : 'left'
        return taken
      },
    }
  }
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const kit = await openKit({ log, perMinute: 1_000, maxBody: 60_000, direct: isDirect ? noted : null })
  await kit.tenants.addSuppression(
    { accountId: kit.accountId, id: kit.workspaceId },
    { email: 'listed@example.com' },
  )
  kit.clock.advance(60_000 - (kit.clock.now() % 60_000))
  return { kit, lines, ways }
}

/** Ids, times, ports and tokens by the order in which they come. */
const named = (text: string): string => {
  const names = new Map<string, string>()
  return text
    .replace(/(em|req|ws|key|rcp)_[0-9a-z]{26}/g, (id, kind) => {
      if (!names.has(id)) names.set(id, `${kind}#${names.size}`)
      return names.get(id) ?? ''
    })
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/^Date: .*$/gm, 'Date: TIME')
    .replace(/^x-ratelimit-reset: \d+/gm, 'x-ratelimit-reset: TIME')
    .replace(/retry in \d+s/g, 'retry in Ns')
    .replace(/^retry-after: \d+/gm, 'retry-after: N')
    .replace(/"ms":\d+/g, '"ms":0')
    .replace(/"time":[^,}]+/g, '"time":0')
    .replace(/"pid":\d+/g, '"pid":0')
}

type Head = Readonly<Record<string, string>>
interface Case {
  readonly name: string
  readonly body: unknown
  readonly head?: Head
  /** What the direct way does with it. */
  readonly way: 'taken' | 'handed on' | 'left'
  /** In place of POST /v1/emails HTTP/1.1. */
  readonly line?: string
}

const octetsOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

const requestOf = ({ kit }: Side, { body, head, line = 'POST /v1/emails HTTP/1.1' }: Case): Buffer => {
  const octets = octetsOf(body)
  const headers: Record<string, string> = {
    Host: 'mail.test',
    Authorization: `Bearer ${kit.key}`,
    'Content-Type': 'application/json',
    'Content-Length': String(octets.length),
    ...head,
  }
  const filled = (value: string) => value.replace('KEY', kit.key).replace('PAIR', btoa(`api:${kit.key}`))
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === '' ? [] : [`${name}: ${filled(value)}`],
  )
  return Buffer.concat([Buffer.from(`${[line, ...lines].join('\r\n')}\r\n\r\n`), octets])
}

const to = (n: number) => Array.from({ length: n }, (_, i) => `person.number.${i}@example.com`)

const GRID = {
  personalizations: [{ to: [{ email: 'ana@example.com' }] }],
  from: { email: 'no-reply@acme.test' },
  subject: 'Hi',
  content: [{ type: 'text/plain', value: 'Hello' }],
}
const MARK = { From: 'no-reply@acme.test', To: 'ana@example.com', Subject: 'Hi', TextBody: 'Hello' }
const grid = 'POST /v1/as/sendgrid/v3/mail/send HTTP/1.1'
const mark = {
  line: 'POST /v1/as/postmark/email HTTP/1.1',
  head: { Authorization: '', 'X-Postmark-Server-Token': 'KEY' },
}

const GUN = `${new URLSearchParams({ from: 'no-reply@acme.test', to: 'ana@example.com', subject: 'Hi', text: 'Hello' })}`
const gun = {
  line: 'POST /v1/as/mailgun/v3/acme.test/messages HTTP/1.1',
  head: { Authorization: 'Basic PAIR', 'Content-Type': 'application/x-www-form-urlencoded' },
}
const FORM = '--b\r\nContent-Disposition: form-data; name="to"\r\n\r\nana@example.com\r\n'

/** The same in the words of other providers. */
const DIALECTS: readonly Case[] = [
  { name: 'SendGrid', line: grid, body: GRID, way: 'taken' },
  { name: 'SendGrid, with a key', line: grid, body: GRID, head: { 'Idempotency-Key': 's' }, way: 'taken' },
  {
    name: 'SendGrid, the same again',
    line: grid,
    body: GRID,
    head: { 'Idempotency-Key': 's' },
    way: 'taken',
  },
  { name: 'SendGrid, two mails', line: grid, body: { ...GRID, personalizations: [1, 2] }, way: 'handed on' },
  { name: 'SendGrid, a mistake', line: grid, body: { ...GRID, asm: { group_id: 1 } }, way: 'handed on' },
  { name: 'SendGrid, a page', line: grid, body: GRID, head: { Origin: 'https://a.test' }, way: 'left' },
  { name: 'Mailgun', ...gun, body: GUN, way: 'taken' },
  {
    name: 'Mailgun, with a key',
    ...gun,
    head: { ...gun.head, 'Idempotency-Key': 'g' },
    body: GUN,
    way: 'taken',
  },
  {
    name: 'Mailgun, the same again',
    ...gun,
    head: { ...gun.head, 'Idempotency-Key': 'g' },
    body: GUN,
    way: 'taken',
  },
  {
    name: 'Mailgun, in parts',
    ...gun,
    head: { ...gun.head, 'Content-Type': 'multipart/form-data; boundary=b' },
    body: `${FORM}${FORM.replace('"to"', '"from"')}--b--`.replace(
      /ana@example.com(?=\r\n--b--)/,
      'a@acme.test',
    ),
    way: 'taken',
  },
  {
    name: 'Mailgun, cut off',
    ...gun,
    head: { ...gun.head, 'Content-Type': 'multipart/form-data; boundary=b' },
    body: FORM,
    way: 'handed on',
  },
  { name: 'Mailgun, a mistake', ...gun, body: `${GUN}&template=x`, way: 'handed on' },
  {
    name: 'Mailgun, another domain',
    ...gun,
    line: gun.line.replace('acme', 'other'),
    body: GUN,
    way: 'handed on',
  },
  { name: 'Mailgun, an odd domain', ...gun, line: gun.line.replace('acme', 'a%2fb'), body: GUN, way: 'left' },
  {
    name: 'Mailgun, a bearer',
    ...gun,
    head: { ...gun.head, Authorization: 'Bearer KEY' },
    body: GUN,
    way: 'left',
  },
  { name: 'Postmark', ...mark, body: MARK, way: 'taken' },
  { name: 'Postmark, suppressed', ...mark, body: { ...MARK, To: 'listed@example.com' }, way: 'taken' },
  { name: 'Postmark, a mistake', ...mark, body: { ...MARK, To: 'nobody' }, way: 'handed on' },
  { name: 'Postmark, no token', ...mark, head: { Authorization: '' }, body: MARK, way: 'left' },
  {
    name: 'Postmark, many',
    ...mark,
    body: { ...MARK, To: to(90).join() },
    way: 'handed on',
  },
]

const CASES: readonly Case[] = [
  { name: 'a plain send', body: MAIL, way: 'taken' },
  {
    name: 'all fields',
    body: {
      ...MAIL,
      to: to(2),
      cc: to(3),
      bcc: 'x@example.com',
      reply_to: 'y@example.com',
      html: '<p>ü</p>',
      headers: { 'X-One': '1' },
      tags: [{ name: 'a', value: 'b' }],
      scheduled_at: 'in 1 hour',
    },
    way: 'taken',
  },
  { name: 'suppressed', body: { ...MAIL, to: 'listed@example.com' }, way: 'taken' },
  {
    name: 'as fetch sends it',
    body: MAIL,
    head: {
      Accept: '*/*',
      'Accept-Language': '*',
      'Sec-Fetch-Mode': 'cors',
      'User-Agent': 'node',
      'Accept-Encoding': 'gzip, deflate',
    },
    way: 'taken',
  },
  { name: 'with an id of its own', body: MAIL, head: { 'X-Request-Id': 'mine' }, way: 'taken' },
  {
    name: 'with a charset',
    body: MAIL,
    head: { 'Content-Type': 'application/json; charset=UTF-8' },
    way: 'taken',
  },
  { name: 'with a key', body: MAIL, head: { 'Idempotency-Key': 'one' }, way: 'taken' },
  { name: 'the same again', body: MAIL, head: { 'Idempotency-Key': 'one' }, way: 'taken' },
  {
    name: 'another under that key',
    body: { ...MAIL, text: 'other' },
    head: { 'Idempotency-Key': 'one' },
    way: 'handed on',
  },
  { name: 'an empty key', body: MAIL, head: { 'Idempotency-Key': ' ' }, way: 'handed on' },
  { name: 'HTTP/1.0', body: MAIL, line: 'POST /v1/emails HTTP/1.0', way: 'taken' },
  { name: 'that ends the connection', body: MAIL, head: { Connection: 'close' }, way: 'taken' },
  {
    name: 'an answer that is compressed',
    body: { ...MAIL, to: to(90) },
    head: { 'Accept-Encoding': 'gzip' },
    way: 'handed on',
  },
  { name: 'a long answer for who takes none', body: { ...MAIL, to: to(90) }, way: 'handed on' },
  { name: 'no JSON', body: '{', way: 'handed on' },
  { name: 'no UTF-8', body: Buffer.from('{"to":"\xff"}', 'latin1'), way: 'handed on' },
  { name: '__proto__', body: `{"__proto__":1,${JSON.stringify(MAIL).slice(1)}`, way: 'handed on' },
  { name: 'wrong types', body: { ...MAIL, to: 7, odd: 1 }, way: 'handed on' },
  { name: 'wrong addresses', body: { ...MAIL, to: 'nobody', from: 'x' }, way: 'handed on' },
  {
    name: 'many mistakes',
    body: { ...MAIL, to: Array.from({ length: 60 }, () => 'nobody') },
    head: { 'Accept-Encoding': 'gzip' },
    way: 'handed on',
  },
  { name: 'too large', body: { ...MAIL, text: 'x'.repeat(61_000) }, way: 'left' },
  { name: 'a query', body: MAIL, line: 'POST /v1/emails?mode=live HTTP/1.1', way: 'left' },
  { name: 'another path', body: MAIL, line: 'POST /v1/email HTTP/1.1', way: 'left' },
  { name: 'another method', body: MAIL, line: 'PUT /v1/emails HTTP/1.1', way: 'left' },
  { name: 'no key', body: MAIL, head: { Authorization: '' }, way: 'left' },
  {
    name: 'a key of nobody',
    body: MAIL,
    head: { Authorization: `Bearer svc_live_${'0'.repeat(32)}` },
    way: 'handed on',
  },
  { name: 'another type', body: MAIL, head: { 'Content-Type': 'text/plain' }, way: 'left' },
  { name: 'no type', body: MAIL, head: { 'Content-Type': '' }, way: 'left' },
  { name: 'a coding', body: MAIL, head: { 'Content-Encoding': 'gzip' }, way: 'left' },
  { name: 'a proxy', body: MAIL, head: { 'X-Forwarded-For': '192.0.2.1' }, way: 'left' },
  { name: 'a workspace', body: MAIL, head: { 'X-Workspace-Id': 'default' }, way: 'left' },
  { name: 'a second host', body: MAIL, head: { host: 'other.test' }, way: 'left' },
  { name: 'that waits for 100 Continue', body: MAIL, head: { Expect: '100-continue' }, way: 'left' },
]

t.test(
  'every send is answered alike by both, in the same octets and with the same line of the log',
  async (t) => {
    const [direct, hapi] = [await open(true), await open(false)]
    t.teardown(() => Promise.all([direct.kit.stop(), hapi.kit.stop()]))
    for (const one of [...CASES, ...DIALECTS]) {
      const said: string[] = []
      for (const side of [direct, hapi]) {
        side.lines.length = 0
        const { all } = await raw(
          side.kit.port,
          requestOf(side, { ...one, head: { Connection: 'close', ...one.head } }),
        )
        const lines = side.lines.filter((line) => line.includes('"request"'))
        // what is compressed cannot be compared but for its head
        const text = /^content-encoding/m.test(all) ? all.slice(0, all.indexOf('\r\n\r\n')) : all
        said.push(named(`${text}\n${lines.join('')}`))
      }
      t.equal(said[0], said[1], one.name)
      // what waits for 100 Continue never comes to it
      const way = one.head?.Expect ? undefined : direct.ways.pop()
      if (way !== undefined) t.equal(way, one.way, `${one.name}: ${one.way}`)
      direct.ways.length = 0
    }
    const kept = async ({ kit }: Side) => {
      const { json } = await kit.ask('/v1/emails?limit=100')
      return named(JSON.stringify(json.data))
    }
    t.equal(await kept(direct), await kept(hapi), 'and the same mail is stored')
  },
)

t.test('a refused send is counted once, whoever refuses it', async (t) => {
  const { kit } = await open(true)
  t.teardown(() => kit.stop())
  const { secret } = await kit.tenants.createKey(kit.accountId, {
    name: 'k',
    workspace: 'default',
    rateLimitPerMinute: 3,
  })
  const left: (string | null)[] = []
  for (const body of [{ ...MAIL, to: 'nobody' }, MAIL, { ...MAIL, to: 7 }, MAIL]) {
    const { status, headers } = await kit.ask('/v1/emails', { body, key: secret })
    left.push(`${status} ${headers.get('x-ratelimit-remaining')}`)
  }
  t.same(left, ['422 2', '202 1', '422 0', '429 0'])
})

t.test('a body in pieces, two sends at once on a connection, and a client that leaves', async (t) => {
  const side = await open(true)
  const { kit, ways } = side
  t.teardown(() => kit.stop())
  const large = { ...MAIL, text: 'x'.repeat(50_000) }
  const whole = requestOf(side, { name: '', body: large, way: 'taken', head: { Connection: 'close' } })
  const pieces = Array.from({ length: 7 }, (_, i) => whole.subarray(i * 8_000, (i + 1) * 8_000))
  t.equal((await raw(kit.port, ...pieces)).status, 202)
  const one = requestOf(side, { name: '', body: MAIL, way: 'taken' })
  const last = requestOf(side, {
    name: '',
    body: { ...MAIL, to: 7 },
    way: 'taken',
    head: { Connection: 'close' },
  })
  const { all } = await raw(kit.port, Buffer.concat([one, one, last]))
  t.same(all.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 202', 'HTTP/1.1 202', 'HTTP/1.1 422'])
  t.same(ways, ['taken', 'taken', 'taken', 'handed on'])
  const socket = connect(kit.port, '127.0.0.1', () => socket.write(whole.subarray(0, 20_000)))
  await new Promise((resolve) => socket.once('connect', resolve))
  await eventually('the half of it has come', () => ways.length >= 5)
  socket.destroy()
  t.equal((await kit.ask('/v1/emails', { body: MAIL })).status, 202)
  t.equal((await kit.ask('/v1/emails')).json.data.length, 4, 'nothing is stored of the last one')
})

t.test('a send whose commit is in doubt is not tried again by the other way', async (t) => {
  const { kit, ways } = await open(true)
  t.teardown(() => kit.stop())
  const { accept } = kit.store
  let calls = 0
  kit.store.accept = async (batch) => {
    calls++
    await accept(batch)
    throw new OutageError('the connection broke within the commit')
  }
  const { status, headers, json } = await kit.ask('/v1/emails', { body: MAIL })
  kit.store.accept = accept
  t.same([status, json.code, ways, calls], [503, 'service.unavailable', ['handed on'], 1])
  t.equal(headers.get('x-ratelimit-remaining'), '999')
  t.equal((await kit.ask('/v1/emails')).json.data.length, 1)
})

t.test('a revoked key is refused at once', async (t) => {
  const { kit } = await open(true)
  t.teardown(() => kit.stop())
  for (let i = 0; i < 20; i++) {
    const { row, secret } = await kit.tenants.createKey(kit.accountId, { name: 'k', workspace: 'default' })
    t.equal((await kit.ask('/v1/emails', { body: MAIL, key: secret })).status, 202)
    await kit.tenants.revokeKey(kit.accountId, row.id)
    t.equal((await kit.ask('/v1/emails', { body: MAIL, key: secret })).status, 401)
  }
})

t.test('so it is for a trial, which stores nothing', async (t) => {
  const { kit } = await open(true)
  t.teardown(() => kit.stop())
  const trials = [
    {
      path: '/v1/as/sendgrid/v3/mail/send',
      body: JSON.stringify({ ...GRID, mail_settings: { sandbox_mode: { enable: true } } }),
      head: (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' }),
    },
    {
      path: '/v1/as/mailgun/v3/acme.test/messages',
      body: `${GUN}&o%3Atestmode=yes`,
      head: (key: string) => ({
        authorization: `Basic ${btoa(`api:${key}`)}`,
        'content-type': 'application/x-www-form-urlencoded',
      }),
    },
  ]
  for (const { path, body, head } of trials) {
    const { row, secret } = await kit.tenants.createKey(kit.accountId, { name: 'k', workspace: 'default' })
    const post = async () =>
      (await fetch(`${kit.url}${path}`, { method: 'POST', body, headers: head(secret) })).status
    t.equal(await post(), 200, path)
    await kit.tenants.revokeKey(kit.accountId, row.id)
    t.equal(await post(), 401, path)
  }
})
