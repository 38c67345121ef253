/**
 * How many connections a client may hold, and who goes when there are too many.
 * Clients of other addresses than loopback, which is exempt, come through a proxy.
 */
import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { eventually } from '../parts/eventually.js'
import { type Client, dial, dialFrom, HELLO } from './client.js'
import { openBounceDoor, openDoor } from './doors.js'

const BUSY = /^421 4\.7\.0 Too many connections from your address/

/** So many clients from there, all greeted. */
const greeted = async (port: number, ip: string, count: number): Promise<readonly Client[]> => {
  const clients = Array.from({ length: count }, () => dialFrom(port, ip))
  for (const { until } of clients) t.match(await until(/\r\n/), /^220 /)
  return clients
}

const hangUp = (...clients: readonly Client[]) =>
  Promise.all(
    clients.map(({ socket, closed }) => {
      socket.destroy()
      return closed()
    }),
  )

t.test('one address may be strange so many times, and a login makes room', async (t) => {
  const { door, port } = await openDoor('proxied', { connections_per_address: 3 })
  const first = await greeted(port, '203.0.113.7', 3)
  t.match(await dialFrom(port, '203.0.113.7').closed(), BUSY)
  const others = await greeted(port, '203.0.113.8', 3)
  first[0]?.socket.write(HELLO)
  t.match(await first[0]?.until(/235/), /235 2\.7\.0/)
  const next = dialFrom(port, '203.0.113.7')
  t.match(await next.until(/\r\n/), /^220 /, 'whoever logged in does not count')
  t.match(await dialFrom(port, '203.0.113.7').closed(), BUSY)
  await hangUp(next)
  await eventually('there is room again', async () =>
    (await firstLine(port, '203.0.113.7')).startsWith('220'),
  )
  await hangUp(...first, ...others)
  await door.stop()
})

/** The first line that a client from there hears. */
const firstLine = async (port: number, ip: string): Promise<string> => {
  const client = dialFrom(port, ip)
  const heard = await client.until(/\r\n/)
  await hangUp(client)
  return heard
}

t.test('an IPv6 client is its /64', async (t) => {
  const { door, port } = await openDoor('proxied', { connections_per_address: 2 })
  const clients = [
    ...(await greeted(port, '2001:db8:1:2::7', 1)),
    ...(await greeted(port, '2001:db8:1:2:ffff:1:2:3', 1)),
  ]
  t.match(await dialFrom(port, '2001:db8:1:2:abcd::1').closed(), BUSY)
  clients.push(...(await greeted(port, '2001:db8:1:3::7', 1)))
  await hangUp(...clients)
  await door.stop()
})

t.test('loopback, proxies and ranges of credentials are exempt', async (t) => {
  const { door, port } = await openDoor('proxied', { connections_per_address: 1 })
  const clients = [
    ...(await greeted(port, '127.0.0.9', 3)),
    ...(await greeted(port, '::1', 3)),
    ...(await greeted(port, '10.7.0.1', 3)),
  ]
  await hangUp(...clients)
  await door.stop()
  const plain = await openDoor('clear', { connections_per_address: 1 })
  const local = [dial(plain.port), dial(plain.port)]
  for (const { until } of local) t.match(await until(/\r\n/), /^220 /)
  await hangUp(...local)
  await plain.door.stop()
})

t.test('at the bounce door every connection counts until it ends', async (t) => {
  const BEHIND = { proxy_protocol: true, trusted_proxies: ['127.0.0.1'] }
  const { door, port } = await openBounceDoor({ connections_per_address: 2 }, BEHIND)
  const clients = await greeted(port, '203.0.113.7', 2)
  clients[0]?.socket.write('EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<b1@bounces.test>\r\n')
  t.match(await clients[0]?.until(/2\.1\.5/), /250 2\.1\.5/)
  t.match(await dialFrom(port, '203.0.113.7').closed(), BUSY)
  await hangUp(...clients)
  await door.stop()
})

t.test('one credential may be there so many times', async (t) => {
  const { door, port } = await openDoor('proxied', { connections_per_credential: 2 })
  const known: Client[] = []
  for (const ip of ['203.0.113.1', '203.0.113.2']) {
    const client = dialFrom(port, ip)
    client.socket.write(HELLO)
    t.match(await client.until(/235/), /235/)
    known.push(client)
  }
  const late = dialFrom(port, '203.0.113.3')
  late.socket.write(HELLO)
  t.match(await late.closed(), /421 4\.7\.0 Too many connections with this credential[^\r]*\r\n$/)
  // a range of addresses is a credential, too
  const ranged = await greeted(port, '10.7.0.1', 2)
  t.match(await dialFrom(port, '10.7.0.1').closed(), /^421 [^\r]*with this credential/)
  await hangUp(...known, ...ranged)
  await eventually('there is room again', async () => (await firstLine(port, '10.7.0.1')).startsWith('220'))
  await door.stop()
})

t.test('a full listener lets the oldest go that has not shown what it came for', async (t) => {
  const { door, port } = await openDoor('proxied', { connections: 3 })
  const [known] = await greeted(port, '203.0.113.1', 1)
  known?.socket.write(HELLO)
  await known?.until(/235/)
  const [oldest] = await greeted(port, '203.0.113.2', 1)
  const [younger] = await greeted(port, '203.0.113.3', 1)
  const [fresh] = await greeted(port, '203.0.113.4', 1)
  t.match(await oldest?.closed(), /421 4\.3\.2 Too many connections/)
  for (const client of [younger, fresh]) {
    client?.socket.write(HELLO)
    t.match(await client?.until(/235/), /235/)
  }
  t.match(await dialFrom(port, '203.0.113.5').closed(), /^421 4\.3\.2 /, 'who logged in is not put out')
  fresh?.socket.end('QUIT\r\n')
  await fresh?.closed()
  t.match(await firstLine(port, '203.0.113.5'), /^220 /)
  if (known && younger) await hangUp(known, younger)
  await door.stop()
})

t.test('without a login it ends after a minute, however busy; with one it stays', async (t) => {
  let ahead = 0
  const clock = { now: systemClock.now, tick: () => systemClock.tick() + ahead }
  const { door, port } = await openDoor('clear', { idle: 300_000 }, clock)
  const strange = dial(port)
  const known = dial(port)
  known.socket.write(HELLO)
  await known.until(/235/)
  ahead = 59_000
  strange.socket.write('EHLO x\r\n')
  await strange.until(/250 /)
  ahead = 61_000
  t.match(await strange.closed(), /421 4\.4\.2 Timeout, closing\r\n$/)
  known.socket.write('NOOP\r\n')
  t.match(await known.until(/2\.0\.0/), /250 2\.0\.0 Ok\r\n$/)
  await hangUp(known)
  await door.stop()
})

t.test('a handshake that never comes makes room, too, and ends after a minute', async (t) => {
  let ahead = 0
  const clock = { now: systemClock.now, tick: () => systemClock.tick() + ahead }
  const { door, port } = await openDoor('implicit', { connections: 2 }, clock)
  const oldest = dial(port)
  await once(oldest.socket, 'connect')
  const second = dial(port)
  await once(second.socket, 'connect')
  const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  t.match(String(await once(client, 'data')), /^220 /)
  t.equal(await oldest.closed(), '')
  ahead = 61_000
  t.equal(await second.closed(), '')
  client.destroy()
  await door.stop()
})
