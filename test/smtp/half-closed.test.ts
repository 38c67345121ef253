/** Clients that send everything, shut down their side, and read what we say. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { type Client, dial, ENVELOPE, HELLO } from './client.js'
import { openBounceDoor, openDoor } from './doors.js'

const MAIL = `${HELLO}${ENVELOPE}From: a@b.test\r\n\r\nHello\r\n.\r\n`

/** All that comes until the other side ends. */
const heardBy = async (socket: Socket): Promise<string> => {
  let heard = ''
  for await (const chunk of socket) heard += chunk
  return heard
}

t.test('a submission in clear: 250, and 221 where QUIT was said', async (t) => {
  const { door, taken, port } = await openDoor('clear')
  for (const [end, last] of [
    ['QUIT\r\n', /\r\n221 2\.0\.0 Bye\r\n$/],
    ['', /\r\n250 2\.6\.0 [^\r]+\r\n$/],
  ] as const) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.end(`${MAIL}${end}`)
    const heard = await heardBy(socket)
    t.match(heard, /250 2\.6\.0 Ok: queued as em_/)
    t.match(heard, last)
    socket.destroy()
  }
  t.equal(taken.mails.length, 2)
  await door.stop()
})

t.test('the reply waits for the disk, and the client for the reply', async (t) => {
  const { door, taken, port } = await openDoor('clear')
  let open = (): void => {}
  taken.gate = new Promise((resolve) => {
    open = resolve
  })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(`${MAIL}QUIT\r\n`)
  const heard = heardBy(socket)
  setTimeout(open, 100)
  t.match(await heard, /queued as em_[\s\S]*221/)
  await door.stop()
})

t.test('under TLS, implicit and by STARTTLS', async (t) => {
  for (const name of ['implicit', 'starttls'] as const) {
    const { door, taken, port } = await openDoor(name)
    const raw = dial(port)
    if (name === 'starttls') {
      raw.socket.write('EHLO x\r\nSTARTTLS\r\n')
      await raw.until(/220 2\.0\.0/)
    }
    raw.socket.removeAllListeners('data')
    raw.socket.setEncoding()
    const from = name === 'starttls' ? { socket: raw.socket } : { port, host: '127.0.0.1' }
    const socket = connectTls({ ...from, rejectUnauthorized: false, allowHalfOpen: true } as never)
    socket.end(`${MAIL}QUIT\r\n`)
    const heard = await heardBy(socket)
    t.match(heard, /queued as em_[\s\S]*221 2\.0\.0 Bye\r\n$/, name)
    t.equal(taken.mails.length, 1, name)
    socket.destroy()
    raw.socket.destroy()
    await door.stop()
  }
})

t.test('the bounce door does the same', async (t) => {
  const { door, reports, port } = await openBounceDoor()
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(
    'EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<ba1@bounces.test>\r\nDATA\r\nSubject: x\r\n\r\n.\r\nQUIT\r\n',
  )
  t.match(await heardBy(socket), /250 2\.6\.0[\s\S]*221 2\.0\.0/)
  t.equal(reports.length, 1)
  await door.stop()
})

/** Resolves when the door has closed its side, too. */
const ended = ({ socket, closed }: Client, bytes: string): Promise<string> => {
  socket.end(bytes)
  return closed()
}

t.test('who has nothing more to say is not waited for', async (t) => {
  const { door, taken, port } = await openDoor('starttls', { idle: 1_000 })
  t.match(await ended(dial(port), ''), /^(220 [^\r]+\r\n)?$/)
  t.match(await ended(dial(port), 'EHLO x\r\nNO'), /250 DSN|250 STARTTLS|250-/)
  t.match(await ended(dial(port), 'EHLO x\r\nSTARTTLS\r\n'), /220 2\.0\.0/, 'no handshake: the idle limit')
  const clear = await openDoor('clear')
  t.match(await ended(dial(clear.port), `${HELLO}${ENVELOPE}From: a@b.test\r\n\r\nHel`), /354/)
  t.same([taken.mails, clear.taken.mails], [[], []], 'half a message is none')
  const implicit = await openDoor('implicit', { idle: 1_000 })
  t.equal(await ended(dial(implicit.port), ''), '')
  for (const one of [door, clear.door, implicit.door]) await one.stop()
})
