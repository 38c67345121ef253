/** The sendmail shim: its flags, what it does to a message, and PHP and cron style input to a real door. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import { prepareMessage, readFlags } from '../../src/cli/sendmail.js'
import { BIN, cleanEnv, Postern } from '../parts/postern.js'
import { here } from './desk.js'

t.test('flags, as sendmail has them', async (t) => {
  t.match(readFlags(['-t', '-i']), { fromHeader: true, ignoreDots: true, recipients: [] })
  t.match(readFlags(['-ti', '-fme@a.test', 'you@b.test']), {
    fromHeader: true,
    sender: 'me@a.test',
    recipients: ['you@b.test'],
  })
  t.match(readFlags(['-oi', '-oem', '-f', '<me@a.test>', '--', '-odd@b.test']), {
    ignoreDots: true,
    sender: 'me@a.test',
    recipients: ['-odd@b.test'],
  })
  t.match(readFlags(['-FCronDaemon', '-odi', '-oem', '-r', 'me', 'root']), {
    fullName: 'CronDaemon',
    sender: 'me',
    ignoreDots: false,
    recipients: ['root'],
  })
  t.match(readFlags(['-N', 'never', '-Rhdrs', '-v', '-q', '-bm', 'a@b.test']), { recipients: ['a@b.test'] })
  t.match(readFlags(['--config=/x', '--key-file', 'k', '--server', 'h:1', 'a']), {
    config: '/x',
    keyFile: 'k',
    server: 'h:1',
  })
  for (const none of ['<>', '']) t.equal(readFlags(['-f', none, 'a@b.test']).sender, '', 'the null sender')
  t.throws(() => readFlags(['-bs']), { exit: 64, message: /-bs is not supported/ })
  t.throws(() => readFlags(['-bp']), { exit: 64, message: /postern queue list/ })
  t.throws(() => readFlags(['-f']), { exit: 64, message: /-f needs a value/ })
  t.throws(() => readFlags(['--colour']), { exit: 64, message: /unknown option --colour/ })
})

t.test('messages, as programs write them', async (t) => {
  const options = {
    qualify: (address: string) => (address.includes('@') ? address : `${address}@gw.test`),
    sender: 'www@gw.test',
    author: 'www@gw.test',
    fullName: 'The Shop',
  }
  const prepare = (text: string) => {
    const message = prepareMessage(Buffer.from(text), options)
    return { ...message, text: message.raw.toString() }
  }
  const cron = prepare('From: root (Cron Daemon)\nTo: root, ops (On Call)\nSubject: x\n\nhi\n')
  t.equal(
    cron.text,
    'From: Cron Daemon <root@gw.test>\r\nTo: root@gw.test, On Call <ops@gw.test>\r\nSubject: x\r\n\r\nhi\r\n',
  )
  t.same(cron.recipients, ['root@gw.test', 'ops@gw.test'])
  const php = prepare('To: Zoé <z@b.test>\r\nBcc: "C, D" <c@d.test>, e@f.test\r\nX-PHP: 1\r\n\r\nhi\r\n')
  t.match(php.text, /^From: The Shop <www@gw.test>\r\nTo: Zoé <z@b.test>\r\n/)
  t.same(php.recipients, ['z@b.test', 'c@d.test', 'e@f.test'])
  t.equal(prepare('just a line\n').text, 'From: The Shop <www@gw.test>\r\n\r\njust a line\r\n')
  for (const left of ['From root Sat Nov 28 09:00:00 2026\n', '>From x\n', ' left over\n'])
    t.equal(
      prepare(`${left}From: a@b.test\nBcc: c@d.test\n\nhi\n`).text,
      'From: a@b.test\r\nBcc: c@d.test\r\n\r\nhi\r\n',
    )
  const bytes = Buffer.from([...Buffer.from('From: a@b.test\n\n'), 0xe9, 0x0a])
  t.same(
    prepareMessage(bytes, options).raw,
    Buffer.from([...Buffer.from('From: a@b.test\r\n\r\n'), 0xe9, 0x0d, 0x0a]),
  )
})

t.test('to a real door', async (t) => {
  const daemon = new Postern({
    submission: [
      { host: '127.0.0.1', port: 0, tls: 'starttls' },
      { host: '127.0.0.1', port: 0, tls: 'none', ip_credentials: true },
    ],
  })
  t.teardown(() => daemon.remove())
  await daemon.start()
  const keyFile = join(daemon.dir, 'key')
  writeFileSync(keyFile, await daemon.key('--mode', 'test'), { mode: 0o600 })
  const json = async (...args: readonly string[]) =>
    JSON.parse((await here([...args, '--json', '--config', daemon.configFile])).stdout)
  const server = ['--server', `127.0.0.1:${daemon.ports.submission[0]}`]
  const php =
    'To: delivered@b.test, "C, D" <delivered+2@b.test>\nBcc: delivered+3@b.test\nSubject: Order\n\nhello\n.\nbye\n'
  const flags = ['-ti', '-fshop@acme.test', '--key-file', keyFile, ...server, '--config', daemon.configFile]
  t.match(await here(['sendmail', ...flags], php), { code: 0, stdout: '', stderr: '' })
  const [latest] = await json('email', 'list', '--limit', '1')
  t.match(latest, { from: 'shop@acme.test', subject: 'Order', bcc: ['delivered+3@b.test'] })
  t.match((await json('email', 'show', latest.id)).text, /bye/)
  await daemon.json(
    'credential',
    'create',
    '--workspace',
    'default',
    '--cidr',
    '127.0.0.0/8',
    '--mode',
    'test',
  )
  const cron = 'From: root (Cron Daemon)\nTo: root\nSubject: Cron <root@gw> date\n\nit is late\n.\nnot sent\n'
  const open = ['--server', `127.0.0.1:${daemon.ports.submission[1]}`, '--config', daemon.configFile]
  t.match(await here(['sendmail', '-FCronDaemon', '-odi', '-oem', 'root', ...open], cron), {
    code: 0,
    stderr: '',
  })
  const [job] = await json('email', 'list', '--limit', '1')
  t.match(job, { from: /<?root@gw\.postern\.test>?/, to: ['root@gw.postern.test'] })
  t.notMatch((await json('email', 'show', job.id)).text, /not sent/)
  t.match(await here(['sendmail', '-t', ...open], 'Subject: x\n\nno one\n'), {
    code: 65,
    stderr: /no recipient/,
  })
  t.match(await here(['sendmail', '-q15m']), { code: 0, stderr: '' }, 'a queue run has nothing to do')
  const down = ['--server', '127.0.0.1:1', '--config', daemon.configFile]
  t.match(await here(['sendmail', 'a@b.test', ...down], 'Subject: x\n\nx\n'), { code: 75 })
})

const PHP = '/usr/bin/php'
t.test('an answer that wants none leaves from the null sender', async (t) => {
  const senders: (string | false)[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onMailFrom: ({ address }, _session, done) => {
      senders.push(address)
      done()
    },
    onData: (stream, _session, done) => void stream.on('end', done).resume(),
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.server.address() as AddressInfo
  const to = ['--server', `127.0.0.1:${port}`, 'ana@b.test']
  const away = 'From: shop@acme.test\nSubject: Away\n\nI am away\n'
  for (const flags of [['-f', '<>'], ['-f', ''], ['-f<>'], ['-r', '<>'], ['-f', 'me@a.test']])
    t.match(await here(['sendmail', ...flags, ...to], away), { code: 0, stderr: '' })
  t.same(senders, ['', '', '', '', 'me@a.test'])
})

t.test('mail() of PHP', { skip: existsSync(PHP) ? false : `${PHP} is not installed` }, async (t) => {
  const daemon = new Postern()
  t.teardown(() => daemon.remove())
  await daemon.start()
  const keyFile = join(daemon.dir, 'key')
  const key = await daemon.key('--mode', 'test')
  writeFileSync(keyFile, key, { mode: 0o600 })
  const php = (path: string, script: string): Promise<string> =>
    new Promise((resolve) =>
      execFile(PHP, ['-d', `sendmail_path=${path}`, '-r', script], { env: cleanEnv() }, (_error, stdout) =>
        resolve(stdout),
      ),
    )
  const shim = `${process.execPath} ${BIN} sendmail -t -i --key-file ${keyFile} --config ${daemon.configFile}`
  const script = `
    $headers = "From: Zo\u{eb} <shop@acme.test>\\r\\nBcc: delivered+2@example.com\\r\\nContent-Type: text/plain; charset=utf-8";
    var_dump(mail('Ann <delivered@example.com>', 'Order 42', "Hello\\n.\\nbye", $headers, '-fbounce@acme.test'));`
  t.equal(await php(shim, script), 'bool(true)\n')
  const { data } = (await daemon.api('GET', '/v1/emails', key)).body
  t.match(data, [{ subject: 'Order 42', to: [/delivered@example\.com/], bcc: ['delivered+2@example.com'] }])
  const { body } = await daemon.api('GET', `/v1/emails/${data[0].id}`, key)
  t.match(body.text, /Hello\r?\n\.\r?\nbye/, 'a lone dot is text, with -i')
  await daemon.stop()
  t.equal(await php(shim, script), 'bool(false)\n', 'the application hears when the queue is down')
})
