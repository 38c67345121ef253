/**
 * The thread of webhooks, statistics and alarms dies, or hangs: it is started
 * again and goes on where it was, mail is taken meanwhile, and SIGTERM ends all.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

t.setTimeout(240_000)
const got: string[] = []
const receiver = createServer((request, response) => {
  got.push(String(request.headers['webhook-id']))
  request.resume()
  response.end()
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const { port } = receiver.address() as { port: number }

const postern = new Postern({ webhook: { allow_networks: ['127.0.0.0/8'] } })
t.teardown(async () => {
  await postern.remove()
  receiver.close()
})
/** Loaded into every thread; a fault of the followers' is ordered by a file, which then goes. */
const fault = join(postern.dir, 'fault.mjs')
const order = (name: 'throw' | 'hang'): void => writeFileSync(join(postern.dir, name), '')
const isTaken = (name: string): boolean => !existsSync(join(postern.dir, name))
writeFileSync(
  fault,
  `import { isMainThread, workerData } from 'node:worker_threads'
import { existsSync, rmSync } from 'node:fs'
const ordered = (name) => {
  const file = ${JSON.stringify(`${postern.dir}/`)} + name
  if (!existsSync(file)) return false
  rmSync(file)
  return true
}
if (!isMainThread && workerData?.pepper && workerData.store)
  setInterval(() => {
    if (ordered('throw')) throw new Error('thrown by the test')
    if (ordered('hang')) for (;;);
  }, 50).unref()
`,
)
await postern.start({ NODE_OPTIONS: `--import ${fault}` })
const key = await postern.key('--mode', 'test')
const send = async (): Promise<void> => {
  const body = { from: 'a@gw.test', to: 'delivered@x.test', subject: 'followed', text: 'hello' }
  t.equal((await postern.api('POST', '/v1/emails', key, body)).status, 202)
}
const says = (words: string): boolean => postern.output.some((line) => line.includes(words))
const accepted = async (): Promise<number> =>
  (await postern.json('stats', '--mode', 'test')).totals.accepted as number

t.test('one that dies is started again, and nothing is missed', async (t) => {
  const wish = { endpoint: `http://127.0.0.1:${port}/`, events: ['email.queued'] }
  t.equal((await postern.api('POST', '/v1/webhooks', key, wish)).status, 201)
  await send()
  await eventually('the first post', () => got.length === 1)
  order('throw')
  await eventually('its death is told', () => says('"msg":"followers failed"'))
  await send()
  await send()
  // the first post is made again where the thread died before it had written down that it was taken
  await eventually('the posts after it', () => new Set(got).size >= 3, { seen: () => got })
  t.equal(new Set(got).size, 3)
  await eventually('the counts', async () => (await accepted()) === 3)
})

t.test('one that hangs does not keep the daemon from stopping', async (t) => {
  order('hang')
  await eventually('it hangs', () => isTaken('hang'))
  await send()
  t.equal(await postern.stop(), 0)
  t.ok(says('"service":"followers"'), 'and the log says so')
  await postern.start()
  await eventually('the post comes after the start', () => new Set(got).size === 4, { seen: () => got })
  await eventually('and is counted', async () => (await accepted()) === 4)
})
