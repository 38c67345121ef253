/**
 * One daemon relays by HTTPS into the doors of another that speaks as Amazon SES and as Mailgun, which proves the signature,
 * the form and the envelope; and the process dies around a request. No secret is left anywhere, and nothing is lost.
 */
import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { authority } from '../parts/certificates.js'
import { verifies } from '../parts/dkim-verify.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { json, ScriptedService } from '../relay/service/scripted.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.setTimeout(240_000)

const send = async (postern: Postern, key: string, to: string | readonly string[], subject = 'Hello') => {
  const body = { from: 'Ana <ana@acme.test>', to, subject, text: 'hello\n.dot\n' }
  const answer = await postern.api('POST', '/v1/emails', key, body)
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
  return answer.body.id as string
}

const fileOf = ({ dir }: Postern, name: string, text: string): string => {
  const file = join(dir, name)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

t.test('into the doors of another daemon', async (t) => {
  const ca = await authority(t)
  const { keyFile, certFile } = await ca.issue('localhost')
  const mta = new UpstreamServer()
  const port = await mta.listen()
  const far = new Postern({
    http: { host: '127.0.0.1', port: 0, tls: true },
    tls: { cert_file: certFile, key_file: keyFile },
  })
  t.teardown(async () => {
    await far.remove()
    await mta.close()
  })
  await far.start()
  await far.route(`smtp://127.0.0.1:${port}?tls=none`)
  const made = await far.json('key', 'create', '--workspace', 'default', '--ses')
  const secrets = [made.ses_secret_access_key, made.secret] as const
  const sesFile = fileOf(far, 'ses', `${made.ses_access_key_id}:${secrets[0]}\n`)
  const mailgunFile = fileOf(far, 'mailgun', `${secrets[1]}\n`)
  const door = (name: string): string => `https://localhost:${far.ports.http}/v1/as/${name}`
  const near = new Postern({
    relay: {
      retry: ['1s'],
      http_endpoints: [
        { upstream: 'ses+https://eu-west-1', url: door('ses') },
        { upstream: 'mailgun+https://acme.test', url: door('mailgun') },
      ],
    },
  })
  t.teardown(() => near.remove())
  await near.start()
  const key = await near.key()
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = fileOf(near, 'dkim.pem', privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
  await near.json('domain', 'add', 'acme.test', '--dkim-key-file', pem, '--selector', 's1')

  const through = async (url: string, subject: string) => {
    const before = mta.received.length
    await near.json('pool', 'update', 'default', '--upstream', url)
    const [trial] = await near.json('upstream', 'test')
    t.match(trial, { ok: true, said: /^TLSv1\.3, the key is good/ })
    await near.relayHasRead()
    const id = await send(near, key, 'you@example.test', subject)
    const email = await near.until(key, id, ['sent'])
    await eventually('it has arrived', () => mta.received.length > before)
    const { data } = (await near.api('GET', `/v1/emails/${id}/events`, key)).body
    const sent = data.find((one: { type: string }) => one.type === 'email.sent')
    return { id, email, sent, arrived: mta.received[before] }
  }

  await t.test('SES', async (t) => {
    const url = `ses+https://eu-west-1?access_key_file=${sesFile}&ca_file=${ca.caFile}`
    const { id, sent, arrived } = await through(url, 'by SES')
    t.match(arrived?.rcpt, [/<you@example.test>/])
    const wire = (arrived?.wire ?? '').replaceAll('\r\n..', '\r\n.')
    t.match(wire, /^h=|h=/)
    t.ok(verifies(wire, publicKey, 's1'), 'our signature holds')
    const [, signed = ''] = /h=([^;]*);/.exec(wire) ?? []
    t.notMatch(signed, /message-id|date/, 'what SES writes anew is not signed')
    const [newest] = await far.json('email', 'list', '--limit', '1')
    t.equal(sent.detail.upstream_message_id, newest.id, 'it is called there as the event says')
    t.match((await near.cli('email', 'show', id)).stdout, `upstream message id ${newest.id}`)
    const changed = wire.replace(/\r\nDate: [^\r]*/, '\r\nDate: Thu, 01 Jan 2026 00:00:00 +0000')
    t.ok(verifies(changed, publicKey, 's1'), 'with another date, too')
  })

  await t.test('Mailgun', async (t) => {
    const url = `mailgun+https://acme.test?region=eu&key_file=${mailgunFile}&ca_file=${ca.caFile}`
    const { sent, arrived } = await through(url, 'by Mailgun')
    t.match(arrived?.rcpt, [/<you@example.test>/])
    t.ok(verifies((arrived?.wire ?? '').replaceAll('\r\n..', '\r\n.'), publicKey, 's1'))
    t.match(sent.detail.upstream_message_id, /^[!-~]+$/)
  })

  await t.test('a key that is revoked: the mail waits, the upstream fails, and is told', async (t) => {
    await far.json('key', 'revoke', made.id, '--yes')
    const id = await send(near, key, 'later@example.test')
    await near.until(key, id, ['deferred'])
    const { code, stdout } = await near.cli('upstream', 'test')
    t.equal(code, 69)
    t.match(stdout, /auth/)
    const doctor = await near.cli('doctor')
    t.match(doctor.stdout, /mailgun\+https:\/\/acme\.test: auth failed/)
    t.match(doctor.stdout, /key_file=FILE/)
    const fresh = await far.key()
    const again = fileOf(near, 'fresh', fresh)
    const url = `mailgun+https://acme.test?key_file=${again}`
    await near.json('pool', 'update', 'default', '--upstream', url)
    await near.until(key, id, ['sent'], 60_000)
    t.match((await near.cli('doctor')).stdout, /stays "sent"/)
  })

  await t.test('no secret is shown or kept in clear', async (t) => {
    const shown = [
      ...(
        await Promise.all(
          [
            ['upstream', 'list'],
            ['pool', 'list'],
            ['audit', 'list'],
            ['export', '--setup', join(near.dir, 'exported')],
          ].map((args) => near.cli(...args)),
        )
      ).flatMap(({ stdout, stderr }) => [stdout, stderr]),
      ...near.output,
      ...readdirSync(join(near.dir, 'data')).map((name) => {
        try {
          return readFileSync(join(near.dir, 'data', name), 'latin1')
        } catch {
          return ''
        }
      }),
    ]
    for (const secret of secrets) t.notOk(shown.some((text) => text.includes(secret)))
  })
})

t.test('the process dies around a request', async (t) => {
  let answer: () => string | null = () => json(200, { MessageId: '0100-1' })
  const service = await ScriptedService.start(t, () => answer())
  const near = new Postern({
    relay: {
      ...{ poll: '100ms', retry: ['1s'] },
      http_endpoints: [{ upstream: 'ses+https://eu-west-1', url: service.url }],
    },
  })
  t.teardown(() => near.remove())
  await near.start()
  const key = await near.key()
  const file = fileOf(near, 'ses', 'AKIAEXAMPLE:abcdefghijklmnopqrst')
  await near.json(
    'pool',
    'update',
    'default',
    '--upstream',
    `ses+https://eu-west-1?access_key_file=${file}&ca_file=${service.caFile}`,
  )
  await near.relayHasRead()
  const copies = (to: string): number => service.asked.filter(({ body }) => body.includes(`["${to}"]`)).length
  const dies = async (point: string, to: string): Promise<string> => {
    await near.stop()
    await near.start({ POSTERN_CRASH_AT: point })
    const id = await send(near, key, to)
    await near.ended
    await near.start()
    return id
  }

  await t.test('before the request: once', async (t) => {
    await near.until(key, await dies('relay.before-data', 'before@example.test'), ['sent'])
    t.equal(copies('before@example.test'), 1)
  })
  for (const point of ['relay.after-dot', 'relay.before-settle'])
    await t.test(`${point}: the window, in which it goes out again`, async (t) => {
      await near.until(key, await dies(point, `${point}@example.test`), ['sent'])
      t.equal(copies(`${point}@example.test`), 2)
    })
  await t.test('while the answer is on its way: again, or held as the workspace wishes', async (t) => {
    for (const word of ['retry', 'hold']) {
      await near.json('workspace', 'update', 'default', '--ambiguous', word)
      const to = `${word}@example.test`
      answer = () => null
      const id = await send(near, key, to)
      await eventually('it was asked for', () => copies(to) === 1)
      await near.stop('SIGKILL')
      answer = () => json(200, { MessageId: '0100-1' })
      await near.start()
      if (word === 'retry') await near.until(key, id, ['sent'])
      else {
        await near.until(key, await send(near, key, 'after@example.test'), ['sent'])
        const held = (await near.json('queue', 'list')).find(
          (one: { email_id: string }) => one.email_id === id,
        )
        t.equal(held?.held, 'ambiguous')
      }
      t.equal(copies(to), word === 'retry' ? 2 : 1)
    }
    await near.json('workspace', 'update', 'default', '--ambiguous', 'retry')
  })
  await t.test('in the middle of the message: the service never had the whole', async (t) => {
    const big = {
      from: 'ana@acme.test',
      to: 'big@example.test',
      subject: 'big',
      text: 'x'.repeat(72).concat('\n').repeat(200_000),
    }
    let isBegun = false
    service.part = (socket, size) => {
      if (size < 100_000) return
      isBegun = true
      socket.pause()
    }
    const { body } = await near.api('POST', '/v1/emails', key, big)
    await eventually('it has begun', () => isBegun)
    await near.stop('SIGKILL')
    service.part = () => {}
    await near.start()
    await near.until(key, body.id, ['sent'], 60_000)
    t.equal(copies('big@example.test'), 1)
  })
  await t.test('killed again and again: nothing is lost', async (t) => {
    const all: string[] = []
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 20; i++) all.push(`r${round}-${i}@example.test`)
      const sends = all
        .slice(-20)
        .map((to) => send(near, key, to).catch(() => all.splice(all.indexOf(to), 1)))
      await eventually('some are asked for', () => service.asked.length % 7 === round, {
        ms: 2_000,
        every: 1,
      }).catch(() => {})
      await Promise.all(sends)
      await near.stop('SIGKILL')
      await near.start()
    }
    await eventually('all arrived', () => all.every((to) => copies(to) > 0))
    t.ok(all.length >= 80)
  })
})
