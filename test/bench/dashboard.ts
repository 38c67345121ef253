/**
 * The dashboard beside the mail: what a page costs, how soon its first byte comes while mail is taken at full speed, and
 * what fifty open browsers cost, with their streams and the pages that their scripts ask for. The clients share the
 * cores with the daemon, so the last two are upper bounds; who looks is a thread of its own, since the one that sends
 * is as busy as the daemon.
 */
import { readFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { Postern } from '../parts/postern.js'
import { accept } from './events.js'
import { atMost } from './goals.js'
import { percentile as at, median, now, sleep } from './load.js'
import { fill, swell } from './stored/pages.js'

const VIEWS = 200
const BROWSERS = 50
/** A page of them is full. */
const KEYS = 100
const TICKS_MS = 10
const FULL = Number.POSITIVE_INFINITY
/** So often the scripts of a page ask for it while much happens (client/live.ts). */
const ASKED_EVERY_MS = 10_000

/** Milliseconds of processor that a process has had. */
const cpuOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICKS_MS
}

const open = (
  agent: Agent | false,
  url: string,
  token: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const cookie = `postern_session=${token}`
    get(url, { agent, headers: { cookie, ...headers } }, resolve).once('error', reject)
  })

/** Milliseconds to the first byte of the body; the whole is read. */
const look = async (
  agent: Agent,
  url: string,
  token: string,
  headers?: Readonly<Record<string, string>>,
): Promise<number> => {
  const began = now()
  const answer = await open(agent, url, token, headers)
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`)
  const first = now() - began
  for await (const _ of answer) {
    // all of it
  }
  return first
}

/** What was swollen is still made searchable when the daemon begins. */
const settled = async ({ pid }: Postern): Promise<void> => {
  for (let before = -1_000, used = 0; used - before > 5 * TICKS_MS; ) {
    before = cpuOf(pid)
    await sleep(1_000)
    used = cpuOf(pid)
  }
}

const pages = async (gateway: Postern, token: string, paths: readonly string[]): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (const path of paths) {
    const url = gateway.url + path
    for (let i = 0; i < 20; i++) await look(agent, url, token)
    const before = cpuOf(gateway.pid)
    const times: number[] = []
    for (let i = 0; i < VIEWS; i++) times.push(await look(agent, url, token))
    const cpu = (cpuOf(gateway.pid) - before) / VIEWS
    console.log(
      `${path.padEnd(16).slice(0, 16)} ${cpu.toFixed(1)} ms of processor a view, ${atMost(5, cpu, ' ms')}; first byte p50 ${at(times, 0.5).toFixed(1)} ms`,
    )
  }
  agent.destroy()
}

/** Of the thread that looks: until it is told to end. */
const watch = async ({ url, token }: { readonly url: string; readonly token: string }): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  let isOver = false
  parentPort?.once('message', () => {
    isOver = true
  })
  while (!isOver) {
    times.push(await look(agent, url, token))
    await sleep(50)
  }
  agent.destroy()
  parentPort?.postMessage(times)
}

const whileBusy = async (gateway: Postern, key: string, token: string, count: number): Promise<void> => {
  for (const path of ['/emails', '/', '/queue']) {
    const viewer = new Worker(new URL(import.meta.url), { workerData: { url: gateway.url + path, token } })
    const rate = await accept(gateway.url, key, count, FULL)
    viewer.postMessage('end')
    const times = await new Promise<number[]>((resolve, reject) => {
      viewer.once('message', resolve).once('error', reject)
    })
    const p95 = at(times, 0.95)
    console.log(
      `first byte of ${path} at ${rate.toFixed(0)} mails/s: p50 ${at(times, 0.5).toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, ${atMost(60, p95, ' ms')}`,
    )
  }
}

const browsers = async (
  gateway: Postern,
  key: string,
  tokens: readonly string[],
  { runs, count }: { readonly runs: number; readonly count: number },
): Promise<void> => {
  const alone: number[] = []
  const watched: number[] = []
  const agent = new Agent({ keepAlive: true })
  for (let run = 0; run < runs; run++) {
    alone.push(await accept(gateway.url, key, count, FULL))
    const streams = await Promise.all(tokens.map((token) => open(false, `${gateway.url}/live`, token)))
    for (const stream of streams) stream.on('error', () => {}).resume()
    const looks: Promise<unknown>[] = []
    const asking = setInterval(() => {
      const token = tokens[looks.length % tokens.length] ?? ''
      looks.push(look(agent, `${gateway.url}/emails`, token, { 'x-postern-part': 'main' }))
    }, ASKED_EVERY_MS / tokens.length)
    watched.push(await accept(gateway.url, key, count, FULL))
    clearInterval(asking)
    // who leaves in the middle of an answer makes it an error
    await Promise.all(looks)
    for (const stream of streams) stream.destroy()
  }
  agent.destroy()
  const cost = (1 - median(watched) / median(alone)) * 100
  console.log(
    `accept alone ${median(alone).toFixed(0)}/s, with ${tokens.length} browsers ${median(watched).toFixed(0)}/s: ${cost.toFixed(1)} % less, ${atMost(5, cost, ' %')}`,
  )
}

export const dashboardBench = async (runs: number, count: number, rows: number): Promise<void> => {
  const gateway = new Postern({
    rate_limit: { per_minute: 100_000_000 },
    events: { streams_per_key: 1_000, streams_per_address: 1_000 },
  })
  // the first start makes the account
  await gateway.start()
  await gateway.stop()
  await fill(gateway, 200)
  swell(gateway, rows)
  await gateway.start()
  const key = await gateway.key()
  const tokens: string[] = []
  for (let i = 0; i < BROWSERS; i++) tokens.push((await gateway.json('session', 'create')).token)
  const [token = ''] = tokens
  for (let i = 0; i < KEYS; i++)
    await gateway.api('POST', '/v1/api-keys', token, { name: `Key ${i}`, mode: 'live', scope: 'platform' })
  const { body } = await gateway.api('GET', '/v1/emails?limit=1', key)
  await settled(gateway)
  await pages(gateway, token, [
    '/emails?since=',
    '/',
    '/queue',
    `/emails/${body.data[0].id}`,
    '/pools',
    '/keys',
  ])
  await whileBusy(gateway, key, token, count)
  await browsers(gateway, key, tokens, { runs, count })
  await gateway.remove()
}

if (!isMainThread) await watch(workerData)
