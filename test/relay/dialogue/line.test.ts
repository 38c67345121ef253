/** What breaks a line, and how that is told; and that it breaks no other. */
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { Connection } from '../../../src/relay/dialogue/connection.js'
import { openSession, type Patience, type SmtpPeer } from '../../../src/relay/dialogue/session.js'
import { toPayload } from '../../../src/relay/dialogue/wire.js'
import { RFC_TIMEOUTS } from '../../../src/relay/settings.js'
import { UpstreamServer } from '../upstream-server.js'

const TARGET: Omit<SmtpPeer, 'port'> = {
  host: '127.0.0.1',
  tls: 'none',
  fingerprint: null,
  login: null,
  clientCertFile: null,
  clientKeyFile: null,
}
const MAIL = {
  mail: 'MAIL FROM:<a@example.com>',
  rcpt: ['RCPT TO:<you@example.com>'],
  payload: toPayload(Buffer.from('Subject: hello\r\n\r\nHello\r\n')),
}

/** Says this to whoever comes, and hangs up. */
const says = async (t: Test, text: string): Promise<number> => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.resume()
    socket.end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const opening = (port: number, patience?: Patience, timeouts = {}) =>
  openSession({ ...TARGET, port }, 'postern.test', { ...RFC_TIMEOUTS, ...timeouts }, patience)

const connect = async (t: Test, mayGo?: () => boolean) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  const session = await opening(port)
  return { server, connection: new Connection(session, RFC_TIMEOUTS, () => performance.now(), mayGo) }
}

t.test('how a set-up ends, in words', async (t) => {
  const cases = [
    ['', 'connection closed by the upstream', null],
    ['55', 'Invalid greeting: 55', null],
    ['554 5.7.1 nobody is served here', 'Invalid greeting: 554 5.7.1 nobody is served here', 554],
    ['554-first\r\n554 second\r\n', 'Invalid greeting: 554-first', 554],
    ['220 hello\r\n220 and hello\r\n', 'unexpected reply 220', null],
  ] as const
  for (const [text, message, code] of cases) {
    const failure = { stage: 'greeting', message, reply: code === null ? null : { code } }
    await t.rejects(opening(await says(t, text)), failure, text)
  }
})

t.test('what is thrown in a dialogue ends this one', async (t) => {
  for (const [asked, stage] of [
    [1, 'mail'],
    [2, 'data'],
  ] as const) {
    let left = asked
    const { connection, server } = await connect(t, () => {
      if (--left === 0) throw new TypeError('a fault of ours')
      return true
    })
    let isClosed = false
    connection.onClosed(() => {
      isClosed = true
    })
    t.match(await connection.transact(MAIL), { kind: 'lost', stage, error: 'a fault of ours' })
    t.ok(isClosed && !connection.alive)
    t.same(server.received, [])
  }
  const silent = createServer(() => {})
  t.teardown(() => silent.close())
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const hurry = (): boolean => {
    throw new TypeError('a fault of ours')
  }
  const opened = opening((silent.address() as AddressInfo).port, { hurry, slow: () => {} }, { hurried: 20 })
  await t.rejects(opened, { stage: 'greeting', message: 'a fault of ours' })
})

t.test('a line that is broken takes no mail', async (t) => {
  const { connection } = await connect(t)
  connection.abort('enough')
  t.match(await connection.transact(MAIL), { kind: 'lost', stage: 'mail', error: 'enough' })
})
