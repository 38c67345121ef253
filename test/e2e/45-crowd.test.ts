/**
 * Thousands of silent connections from a network of its own: neither door is
 * shut by them, and the operator reads who it was in one line.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { type Namespace, namespace } from '../parts/namespace.js'
import { Postern } from '../parts/postern.js'

const KNOCKER = join(import.meta.dirname, '..', 'parts', 'knocker.js')

interface Heard {
  readonly opened: number
  readonly greeted: number
  readonly refused: number
  readonly put_out: number
  readonly failed: number
}

/** Silent connections from there, until stopped. */
const crowd = (net: Namespace, port: number, count: number, addresses: readonly string[]) => {
  const words = [KNOCKER, net.host, String(port), String(count), '2000', ...addresses]
  const child = net.spawn(process.execPath, words)
  let last: Heard = { opened: 0, greeted: 0, refused: 0, put_out: 0, failed: 0 }
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  lines.on('line', (line) => {
    last = JSON.parse(line) as Heard
  })
  return {
    async until(holds: (heard: Heard) => boolean): Promise<Heard> {
      await eventually(String(holds), () => holds(last), { seen: () => last })
      return last
    },
    async stop(): Promise<void> {
      child.stdin?.end()
      await once(child, 'exit')
    },
  }
}

/** What a client from there hears to its EHLO and QUIT. */
const talk = async (net: Namespace, port: number, from: string): Promise<string> => {
  const script = `
    const socket = require('node:net').connect({ host: '${net.host}', port: ${port}, localAddress: '${from}' })
    socket.on('error', (error) => console.log(error.code))
    socket.on('connect', () => socket.write('EHLO client.test\\r\\nQUIT\\r\\n'))
    socket.pipe(process.stdout)`
  const child = net.spawn(process.execPath, ['-e', script])
  let heard = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    heard += chunk
  })
  await once(child, 'close')
  return heard
}

const net = namespace(100)
if (typeof net === 'string') t.plan(0, `skipped: ${net}`)
else {
  t.setTimeout(120_000)
  const [one = '', other = ''] = net.clients
  const postern = new Postern({
    submission: [{ host: net.host, port: 0, tls: 'starttls' }],
    bounce: { host: net.host, port: 0, domain: 'bounce.test' },
    limits: { connections: 500 },
  })
  t.teardown(async () => {
    await postern.remove()
    net.remove()
  })
  await postern.start()
  const doors = { submission: postern.ports.submission[0] ?? 0, bounce: postern.ports.bounce }

  for (const [name, port] of Object.entries(doors)) {
    t.test(`${name}: one address with 2,000 connections has 50 of them`, async (t) => {
      const attack = crowd(net, port, 2_000, [one])
      t.match(await attack.until((heard) => heard.greeted + heard.refused === 2_000), {
        greeted: 50,
        refused: 1_950,
        put_out: 0,
      })
      t.match(await talk(net, port, other), /^220 [\s\S]*\r\n221 /)
      t.match(await talk(net, port, one), /^421 4\.7\.0 Too many connections from your address/)
      await attack.stop()
    })

    t.test(`${name}: a hundred addresses fill the listener, and the oldest silent ones go`, async (t) => {
      const attack = crowd(net, port, 2_000, net.clients.slice(1))
      await attack.until((heard) => heard.put_out > 500)
      t.match(await talk(net, port, one), /^220 [\s\S]*\r\n221 /)
      t.match(await attack.until((heard) => heard.opened === 2_000), { refused: 0, failed: 0 })
      await attack.stop()
    })
  }

  t.test('the log names the address and the setting once, not a thousand times', async (t) => {
    const lines = postern.output.filter((line) => line.includes('smtp_too_many_connections'))
    t.ok(lines.length >= 2 && lines.length <= 4, `${lines.length} lines`)
    t.match(JSON.parse(lines[0] ?? '{}'), { key: 'limits.connections_per_address', ip: one })
  })
}
