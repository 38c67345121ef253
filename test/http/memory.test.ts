/** limits.memory at the API: taken before a body is read, four times its size, and given back. */
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Budget } from '../../src/base/memory.js'
import { eventually } from '../parts/eventually.js'
import { MAIL, openKit } from './kit.js'

const MIB = 1024 * 1024

const memory = new Budget(4 * MIB)
const kit = await openKit({ memory })
t.teardown(() => kit.stop())

const sized = (bytes: number) => JSON.stringify({ ...MAIL, text: 'x'.repeat(bytes) })
/** Takes a quarter of a mebibyte. */
const small = () => kit.ask('/v1/emails', { body: sized(64 * 1024) })

/** A request that has told its length and sent nothing yet. */
const begin = (headers: Record<string, string | number>) => {
  const sent = request(`${kit.url}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${kit.key}`, 'content-type': 'application/json', ...headers },
  })
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
