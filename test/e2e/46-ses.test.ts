/**
 * An application that was written for Amazon SES, moved here by its environment alone: AWS's client through the whole product
 * to a real Postfix, with its own repeats and its own clock. Afterwards neither of its secrets stands anywhere.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SESv2Client, SendEmailCommand, type SendEmailCommandInput } from '@aws-sdk/client-sesv2'
import t from 'tap'
import { overPostfix } from '../parts/over-postfix.js'
import { noPostfix } from '../parts/postfix.js'

/** Hands on what comes, and says 503 in place of the first answer. */
const proxyTo = async (port: number) => {
  const answers: number[] = []
  const server = createServer((req, res) => {
    const { method, url: path, headers } = req
    const onward = request({ port, host: '127.0.0.1', method, path, headers }, (answer) => {
      answers.push(answer.statusCode ?? 0)
      const isLost = answers.length === 1
      res.writeHead(isLost ? 503 : (answer.statusCode ?? 500), isLost ? {} : answer.headers)
      if (isLost) answer.resume().once('end', () => res.end())
      else answer.pipe(res)
    })
    req.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { answers, server, port: (server.address() as AddressInfo).port }
}

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(300_000)
  const { postern, upstream } = await overPostfix(t)
  const { stdout } = await postern.cli('key', 'create', '--workspace', 'default', '--ses')
  const env: Record<string, string> = Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => /^(\w+)=(.+)$/.exec(line)?.slice(1) as [string, string]),
  )
  const { POSTERN_KEY: key = '', AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = env
  const endpointAt = (port: number): string => `http://127.0.0.1:${port}/v1/as/ses`
  Object.assign(process.env, { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION: 'eu-west-1' })
  process.env.AWS_ENDPOINT_URL_SESV2 = endpointAt(postern.ports.http)
  const send = (mail: SendEmailCommandInput, client: SESv2Client) => client.send(new SendEmailCommand(mail))
  const mailOf = (subject: string, to = 'ok@deliver.test') => ({
    FromEmailAddress: 'App <app@gw.test>',
    Destination: { ToAddresses: [to] },
    Content: { Simple: { Subject: { Data: subject }, Body: { Text: { Data: 'Hello' } } } },
  })
  const copies = (text: string): number => upstream.delivered().filter((raw) => raw.includes(text)).length

  t.test('by the environment alone', async (t) => {
    const client = new SESv2Client()
    const { Content, ...mail } = mailOf('Simple')
    const Attachments = [{ FileName: 'a.txt', RawContent: Buffer.from('hello'), ContentType: 'text/plain' }]
    const sent = await send({ ...mail, Content: { Simple: { ...Content.Simple, Attachments } } }, client)
    t.match(await postern.until(key, sent.MessageId ?? '', ['delivered']), {
      attachments: [{ filename: 'a.txt' }],
    })
    t.equal(copies(sent.MessageId ?? '?'), 1, 'the mailbox has it')
    const bounced = await send(mailOf('Bounced', 'nobody@deliver.test'), client)
    await postern.until(key, bounced.MessageId ?? '', ['bounced'])
  })

  t.test('a whole message, whose hidden recipients stay hidden', async (t) => {
    const text =
      'From: app@gw.test\r\nTo: ok@deliver.test\r\nBcc: ok2@deliver.test\r\nSubject: Whole\r\n\r\nHello\r\n'
    const sent = await send({ Content: { Raw: { Data: Buffer.from(text) } } }, new SESv2Client())
    const mail = await postern.until(key, sent.MessageId ?? '', ['delivered'])
    t.match(mail, { to: ['ok@deliver.test'], bcc: ['ok2@deliver.test'], subject: 'Whole' })
    const bodies = upstream.delivered().filter((raw) => /^Subject: Whole$/m.test(raw))
    t.equal(bodies.length, 2)
    t.notOk(bodies.some((raw) => /^Bcc:/im.test(raw)))
  })

  t.test('an answer that is lost: the client repeats, and the mail is one', async (t) => {
    const proxy = await proxyTo(postern.ports.http)
    t.teardown(() => proxy.server.close())
    const client = new SESv2Client({ endpoint: endpointAt(proxy.port) })
    const sent = await send(mailOf('Repeated'), client)
    t.equal(sent.$metadata.attempts, 2)
    t.same(proxy.answers, [200, 200])
    await postern.until(key, sent.MessageId ?? '', ['delivered'])
    t.equal(copies('Subject: Repeated'), 1)
    client.destroy()
  })

  t.test('a clock that is late: the client sets its own by our answer', async (t) => {
    const sent = await send(mailOf('Late'), new SESv2Client({ systemClockOffset: -1_200_000 }))
    t.equal(sent.$metadata.attempts, 2)
  })

  t.test('wrong secrets, and the key after it was revoked', async (t) => {
    const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: 'wrong' }
    await t.rejects(send(mailOf('x'), new SESv2Client({ credentials })), {
      name: 'InvalidSignatureException',
    })
    const [row] = await postern.json('key', 'list')
    t.match(row, { ses_access_key_id: AWS_ACCESS_KEY_ID })
    await postern.cli('key', 'revoke', row.id, '--yes')
    await t.rejects(send(mailOf('x'), new SESv2Client()), { name: 'UnrecognizedClientException' })
  })

  t.test('a key that a setup made', async (t) => {
    const file = join(postern.dir, 'setup.yaml')
    const [out, sesOut] = ['web.key', 'ses.env'].map((name) => join(postern.dir, 'data', name))
    writeFileSync(file, `setup: web\nkeys: { default/web: { out: ${out}, ses_out: ${sesOut} } }\n`)
    await postern.json('apply', file, '--yes')
    const variables = readFileSync(sesOut ?? '', 'utf8')
    const [, accessKeyId = '', secretAccessKey = ''] =
      /^AWS_ACCESS_KEY_ID=(PSTN\w{12})\nAWS_SECRET_ACCESS_KEY=(\S+)\n$/.exec(variables) ?? []
    const client = new SESv2Client({ credentials: { accessKeyId, secretAccessKey } })
    const sent = await send(mailOf('By a setup'), client)
    const made = readFileSync(out ?? '', 'utf8').trim()
    t.ok(await postern.until(made, sent.MessageId ?? '', ['delivered']))
    client.destroy()
  })

  t.test('the secrets are in no file, and in no line of the log', async (t) => {
    await postern.stop()
    const files = (dir: string): readonly string[] =>
      readdirSync(dir).flatMap((name) => {
        const path = join(dir, name)
        return statSync(path).isDirectory() ? files(path) : [path]
      })
    const all = files(postern.dir)
    t.ok(all.length > 2, `${all.length} files`)
    for (const secret of [key, AWS_SECRET_ACCESS_KEY]) {
      t.ok(secret.length > 40)
      for (const path of all) t.notOk(readFileSync(path).includes(secret), path)
      t.notOk(postern.output.some((line) => line.includes(secret)))
    }
  })
}
