/** limits.memory at the API: taken before a body is read, four times its size, and given back. */
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Budget } from '../../src/base/memory.js'
import { eventually } from '../parts/eventually.js'
import { headersFor, newAccessKey, SEND } from './dialect/signing.js'
import { type Kit, MAIL, openKit } from './kit.js'

const MIB = 1024 * 1024

const memory = new Budget(4 * MIB)
const kit = await openKit({ memory })
t.teardown(() => kit.stop())

const sized = (bytes: number) => JSON.stringify({ ...MAIL, text: 'x'.repeat(bytes) })
/** Takes a quarter of a mebibyte. */
const small = () => kit.ask('/v1/emails', { body: sized(64 * 1024) })

/** A request that has told its length and sent nothing yet. */
const begin = (more: Record<string, string | number>) => beginAt(`${kit.url}/v1/emails`, more)

const beginAt = (url: string, more: Record<string, string | number>) => {
  const headers = { authorization: `Bearer ${kit.key}`, 'content-type': 'application/json', ...more }
  const sent = request(url, { method: 'POST', headers })
  const status = new Promise<number>((resolve) => {
    sent.on('response', (reply) => resolve(reply.resume().statusCode ?? 0))
    sent.on('error', () => resolve(0))
    sent.on('close', () => resolve(0))
  })
  sent.flushHeaders()
  return { sent, status }
}

t.test('a body that does not fit is refused for now', async (t) => {
  const reply = await kit.ask('/v1/emails', { body: sized(2 * MIB) })
  t.strictSame([reply.status, reply.json.code], [503, 'service.unavailable'])
  t.ok(Number(reply.headers.get('retry-after')) >= 1)
  t.equal((await kit.ask('/v1/emails', { body: sized(MIB / 2) })).status, 202)
  t.equal((await small()).status, 202)
})

t.test('what is declared is taken before it comes, and given back when its client goes', async (t) => {
  await eventually('nobody is there', () => memory.used === 0)
  const { sent, status } = begin({ 'content-length': MIB - 32 * 1024 })
  await eventually('the memory is taken', () => memory.used === 4 * MIB - 128 * 1024)
  t.equal((await small()).status, 503)
  sent.destroy()
  t.equal(await status, 0)
  await eventually('it is given back', () => memory.used === 0)
})

t.test('what is not declared is taken as it comes', async (t) => {
  const { sent, status } = begin({ 'transfer-encoding': 'chunked' })
  t.equal((await small()).status, 202, 'nothing came yet')
  sent.write(sized(2 * MIB))
  t.equal(await status, 503)
  sent.destroy()
  const packed = begin({ 'content-encoding': 'gzip' })
  packed.sent.end(gzipSync(sized(2 * MIB)))
  t.equal(await packed.status, 503, 'nor does packing help')
  await eventually('it is given back', () => memory.used === 0)
})

/** A request of a client of SES that knows an access key and not its secret; of its body nothing is sent yet. */
const claim = async ({ url, port, tenants, accountId }: Kit, octets: number, more = {}) => {
  const { accessKeyId } = await newAccessKey(tenants, accountId)
  const signed = await headersFor({ accessKeyId, secretAccessKey: 'x' }, `127.0.0.1:${port}`, '')
  return beginAt(`${url}${SEND}`, { ...signed, 'content-length': octets, ...more })
}
const WAITS = { expect: '100-continue' }

t.test('who has signed nothing is refused before the body, which takes nothing', async (t) => {
  await eventually('nobody is there', () => memory.used === 0)
  for (const authorization of ['', 'Bearer x']) {
    const { sent, status } = beginAt(`${kit.url}${SEND}`, { authorization, 'content-length': 60_000 })
    t.equal(await status, 403)
    sent.destroy()
  }
  await eventually('it is given back', () => memory.used === 0)
})

t.test('what a signature claims is taken as it comes, since the body proves it', async (t) => {
  const large = await claim(kit, MIB - 1, WAITS)
  await new Promise((resolve) => large.sent.once('continue', resolve))
  t.equal(memory.used, 0)
  large.sent.destroy()
  const { sent } = await claim(kit, 60_000)
  sent.write('x'.repeat(10_000))
  await eventually('some of it has come', () => memory.used > 0)
  t.ok(memory.used <= 4 * 10_000)
  sent.destroy()
  await eventually('it is given back', () => memory.used === 0)
})

t.test('a signed body that finds no room on its way is refused for now', async (t) => {
  const key = await newAccessKey(kit.tenants, kit.accountId)
  const Body = { Text: { Data: 'Hello'.repeat(11_000) } }
  const body = JSON.stringify({
    FromEmailAddress: MAIL.from,
    Destination: { ToAddresses: [MAIL.to] },
    Content: { Simple: { Subject: { Data: 'Hi' }, Body } },
  })
  const headers = await headersFor(key, `127.0.0.1:${kit.port}`, body)
  const send = () => {
    const { sent, status } = beginAt(`${kit.url}${SEND}`, { ...headers, 'content-length': body.length })
    sent.end(body)
    return status
  }
  const { sent } = begin({ 'content-length': MIB - 32 * 1024 })
  await eventually('little is left', () => memory.used === 4 * MIB - 128 * 1024)
  t.equal(await send(), 503)
  sent.destroy()
  await eventually('it is given back', () => memory.used === 0)
  t.equal(await send(), 200)
})

t.test(
  'bodies that are cut off count as failures, and who has too many is refused before the next',
  async (t) => {
    const own = await openKit({ authFailures: 2 })
    t.teardown(() => own.stop())
    for (const left of [1, 0]) {
      const { sent } = await claim(own, MIB - 1, WAITS)
      await new Promise((resolve) => sent.once('continue', resolve))
      sent.destroy()
      await eventually('it is counted', () => own.tenants.failures.peek('127.0.0.1').remaining === left)
    }
    const { sent, status } = await claim(own, MIB - 1, WAITS)
    t.equal(await status, 429)
    sent.destroy()
  },
)
