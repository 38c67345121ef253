/** The first page of GET /v1/emails with a few mails and with many, over HTTP. */
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { Postern } from '../parts/postern.js'
import { mailFor, toOne } from '../store/fixture.js'
import { atMost } from './goals.js'
import { now, percentile } from './load.js'

const FEW = 1_000
const AT_ONCE = 200
const REQUESTS = 500
const LATER = 365 * 86_400_000

/** Adds scheduled mails, which lie still, to a daemon that is stopped. */
const fill = async (postern: Postern, count: number): Promise<void> => {
  const store = openSqliteStore({ dataDir: join(postern.dir, 'data'), daemon: true })
  await store.open()
  const [account] = await store.accounts()
  const workspace = account && (await store.workspace(account.id, 'default'))
  const pool = account && (await store.pool(account.id, 'default'))
  if (!account || !workspace || !pool) throw new Error('a fresh database lacks its first rows')
  const place = { accountId: account.id, workspace, poolId: pool.id }
  for (let made = 0; made < count; made += AT_ONCE) {
    const at = Date.now()
    const mails = Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, i) =>
      mailFor(place, {
        createdAt: at,
        scheduledAt: at + LATER,
        recipients: [toOne(`u${made + i}@dest.test`)],
      }),
    )
    await store.accept({ mails, idempotency: null, now: at })
  }
  await store.close()
}

const ask = (agent: Agent, url: string, key: string): Promise<void> =>
  new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${key}` } }, (answer) => {
      answer.resume()
      answer.once('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`${url} answered ${answer.statusCode}`)),
      )
    }).once('error', reject)
  })

/** Milliseconds of a first page. */
const measure = async (postern: Postern): Promise<{ p50: number; p99: number }> => {
  await postern.start()
  const key = await postern.key()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  for (let i = 0; i < 2 * REQUESTS; i++) {
    const began = now()
    await ask(agent, `${postern.url}/v1/emails`, key)
    if (i >= REQUESTS) times.push(now() - began)
  }
  agent.destroy()
  await postern.stop()
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

export const pagesBench = async (rows: number): Promise<void> => {
  const postern = new Postern()
  await postern.start()
  await postern.stop()
  await fill(postern, FEW)
  const few = await measure(postern)
  await fill(postern, rows - FEW)
  const many = await measure(postern)
  await postern.remove()
  const ratio = many.p50 / few.p50
  console.log(`\nfirst page of GET /v1/emails, medians of ${REQUESTS}`)
  console.log(
    `    ${rows} rows beside ${FEW}   x${ratio.toFixed(2)}   ${atMost(1.5, ratio)}   ${many.p50.toFixed(2)} ms (p99 ${many.p99.toFixed(1)}) beside ${few.p50.toFixed(2)} ms (p99 ${few.p99.toFixed(1)})`,
  )
}
