/** What only the session itself can be asked: a message that was crowded out, and talk without end. */
import t from 'tap'
import { silentLog } from '../../src/base/log.js'
import { Budget } from '../../src/base/memory.js'
import type { ListenerRules } from '../../src/smtp/rules.js'
import { Session } from '../../src/smtp/session.js'
import type { Body } from '../../src/smtp/stream.js'

const RULES: ListenerRules<string> = {
  hostname: 'mx.postern.test',
  size: 1_000_000,
  recipients: 5,
  memory: new Budget(1_000_000),
  startTls: false,
  login: 'none',
  mustLogIn: false,
  connected() {},
  authenticate: async () => 'somebody',
  mail() {},
  recipient() {},
  left() {},
  message: async () => '250 2.6.0 Ok: taken',
}

/** A session over a wire that only writes down. */
const converse = (rules: Partial<ListenerRules<string>> = {}) => {
  const said: string[] = []
  let collected: { body: Body; end: () => Promise<void> } | null = null
  const wire = {
    secure: false,
    say: (reply: string) => void said.push(reply),
    close() {},
    startTls() {},
    begun() {},
    known() {},
    collect(body: Body, onbody: (done: () => void) => void) {
      collected = { body, end: () => new Promise((done) => onbody(done)) }
    },
  }
  const session = new Session<string>(
    { ...RULES, ...rules },
    wire,
    { ip: '192.0.2.1', isProbe: false },
    silentLog(),
  )
  const command = (line: string): Promise<void> =>
    new Promise((done) => session.command(Buffer.from(line), done))
  return { said, command, collected: () => collected }
}

t.test('a message that was crowded out is refused for now, and never kept', async (t) => {
  let kept = 0
  const memory = new Budget(10_000)
  const { said, command, collected } = converse({
    memory,
    message: async () => {
      kept++
      return '250 2.6.0 Ok: taken'
    },
  })
  for (const line of ['EHLO x', 'MAIL FROM:<a@b.test>', 'RCPT TO:<c@d.test>', 'DATA']) await command(line)
  const coming = collected()
  coming?.body.feed(Buffer.from('Subject: x\r\n\r\n'))
  coming?.body.feed(Buffer.alloc(10_000, 'x'))
  coming?.body.feed(Buffer.from('the rest\r\n.\r\n'))
  await coming?.end()
  t.match(said.at(-1), /^452 4\.3\.1 /)
  t.equal(kept, 0)
  t.equal(memory.used, 0)
  for (const line of ['MAIL FROM:<a@b.test> SIZE=9000', 'RCPT TO:<c@d.test>', 'DATA']) await command(line)
  t.match(said.at(-1), /^452 4\.3\.1 /, 'one that tells its size hears it before it sends')
  t.equal(memory.used, 0)
})

t.test('who may not send and talks without end is sent away', async (t) => {
  const { said, command } = converse({ mustLogIn: true, login: 'clear' })
  for (let i = 0; i < 50; i++) await command('NOOP')
  t.strictSame([...new Set(said)], ['250 2.0.0 Ok'])
  await command('NOOP')
  t.match(said.at(-1), /^421 4\.7\.0 /)
})

t.test('who may send may talk', async (t) => {
  const { said, command } = converse()
  for (let i = 0; i < 200; i++) await command('NOOP')
  t.strictSame([...new Set(said)], ['250 2.0.0 Ok'])
})
