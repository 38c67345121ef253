/**
 * The dashboard beside the mail: what a page costs, also in calls of /v1 that tell the same, how soon its first byte comes while mail is taken at full speed, and
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

/** What it costs to look at all of them, once. */
const costOf = async ({ url, pid }: Postern, token: string, paths: readonly string[]) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  // the list of suppressions is one of a workspace
  const headers = (path: string) => ({
    authorization: `Bearer ${token}`,
    ...(path.startsWith('/v1/suppressions') && { 'x-workspace-id': 'default' }),
  })
  const times: number[] = []
  const all = async (): Promise<void> => {
    for (const path of paths) times.push(await look(agent, url + path, token, headers(path)))
  }
  for (let i = 0; i < 20; i++) await all()
  times.length = 0
  const before = cpuOf(pid)
  for (let i = 0; i < VIEWS; i++) await all()
  agent.destroy()
  return { cpu: (cpuOf(pid) - before) / VIEWS, first: at(times, 0.5) }
}

/** What stands around every page: who looks, the workspaces, the state of the queue. */
const AROUND = ['/v1/session', '/v1/workspaces?limit=100', '/v1/summary']

/** A page, and the calls that tell what it shows beside that. */
type Shown = readonly [page: string, ...calls: string[]]

const shownIn = async (gateway: Postern, token: string): Promise<readonly Shown[]> => {
  const firstOf = async (path: string): Promise<string> =>
    (await gateway.api('GET', path, token)).body.data[0].id
  const [mail, pool, workspace] = await Promise.all(
    ['/v1/emails', '/v1/egress-pools', '/v1/workspaces'].map(firstOf),
  )
  const day = new Date(Date.now() - 86_400_000).toISOString()
  const few = 'limit=100'
  const history = (id: string | undefined) => `/v1/audit?limit=10&target=${id}`
  return [
    [
      '/',
      `/v1/statistics?mode=live&interval=hour&from=${day}`,
      `/v1/statistics?mode=live&interval=day&from=${day}&group_by=recipient_domain&limit=50`,
      ...[`/v1/egress-pools?${few}`, `/v1/webhooks?${few}`],
      ...[
        `/v1/incidents?open=true&${few}`,
        `/v1/events?type=email.bounced&type=email.deferred&${few}&mode=live`,
      ],
    ],
    ['/emails?since=', '/v1/emails?mode=live&limit=50'],
    [
      `/emails/${mail}`,
      ...[
        `/v1/emails/${mail}?content=false`,
        `/v1/emails/${mail}/events?${few}`,
        `/v1/emails/${mail}/source`,
      ],
    ],
    [
      '/queue',
      '/v1/queue',
      '/v1/queue/ages?by=pool&mode=live',
      `/v1/holds?${few}`,
      `/v1/egress-pools?${few}`,
    ],
    ['/pools', `/v1/egress-pools?${few}`],
    [
      `/pools/${pool}`,
      ...[
        `/v1/egress-pools/${pool}`,
        `/v1/egress-pools/${pool}/health`,
        `/v1/egress-pools?${few}`,
        history(pool),
      ],
    ],
    ['/workspaces', `/v1/workspaces?${few}`],
    [`/workspaces/${workspace}`, `/v1/workspaces/${workspace}`, `/v1/holds?${few}`, history(workspace)],
    ['/webhooks', `/v1/webhooks?${few}`],
    ['/suppressions', '/v1/suppressions?limit=50', `/v1/incidents?open=true&${few}`],
    ['/keys', `/v1/api-keys?${few}`, '/v1/audit?limit=10&action=api_key'],
  ]
}

const pages = async (gateway: Postern, token: string): Promise<void> => {
  for (const [page, ...calls] of await shownIn(gateway, token)) {
    const { cpu, first } = await costOf(gateway, token, [page])
    const told = await costOf(gateway, token, [...calls, ...AROUND])
    const share = cpu / told.cpu
    console.log(
      `${page.padEnd(16).slice(0, 16)} ${cpu.toFixed(1)} ms of processor a view, ${atMost(5, cpu, ' ms')}; ${share.toFixed(1)} x its calls (${told.cpu.toFixed(1)} ms), ${atMost(3, share, ' x')}; first byte p50 ${first.toFixed(1)} ms`,
    )
  }
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
  await settled(gateway)
  await pages(gateway, token)
  await whileBusy(gateway, key, token, count)
  await browsers(gateway, key, tokens, { runs, count })
  await gateway.remove()
}

if (!isMainThread) await watch(workerData)
