/**
 * What a good client feels while 5,000 silent connections a minute come from a
 * hundred addresses: a connection, a login and a mail, one after the other, in
 * quiet and attacked rounds by turns.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Namespace, namespace } from '../parts/namespace.js'
import { Postern } from '../parts/postern.js'
import { atMost } from './goals.js'

const KNOCKER = join(import.meta.dirname, '..', 'parts', 'knocker.js')
const PER_SECOND = 5_000 / 60
/** The listener is full before the measured round begins, so that each newcomer puts out the oldest. */
const FULL = 400
const SETTLE_MS = 5_000

/** Milliseconds from the connection to the answer to QUIT. */
const sendOne = (host: string, port: number, key: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const auth = Buffer.from(`\0x\0${key}`).toString('base64')
    const steps = [
      'EHLO client.test',
      `AUTH PLAIN ${auth}`,
      'MAIL FROM:<a@b.test>',
      'RCPT TO:<c@d.test>',
      'DATA',
      `From: a@b.test\r\nSubject: x\r\n\r\n${'x'.repeat(1_000)}\r\n.`,
      'QUIT',
    ]
    const began = performance.now()
    const socket = connect({ host, port, noDelay: true })
    let queued = false
    socket.on('data', (chunk: Buffer) => {
      const heard = chunk.toString('latin1')
      if (/^[45]/.test(heard)) reject(new Error(heard))
      queued ||= heard.includes('queued as')
      const next = steps.shift()
      if (next !== undefined) socket.write(`${next}\r\n`)
    })
    socket.on('error', reject)
    socket.on('close', () => (queued ? resolve(performance.now() - began) : reject(new Error('no reply'))))
  })

const percentile = (all: readonly number[], part: number): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length * part)] ?? 0

const measure = async (net: Namespace, postern: Postern, runs: number, count: number): Promise<void> => {
  const port = postern.ports.submission[0] ?? 0
  const key = await postern.key('--mode', 'test', '--rate-limit', '1000000')
  const round = async (): Promise<readonly number[]> => {
    const all: number[] = []
    for (let i = 0; i < count; i++) all.push(await sendOne(net.host, port, key))
    return all
  }
  await round()
  const quiet: number[] = []
  const attacked: number[] = []
  for (let run = 0; run < runs; run++) {
    quiet.push(...(await round()))
    const words = [KNOCKER, net.host, String(port), '1000000', String(PER_SECOND), ...net.clients]
    const attack = net.spawn(process.execPath, words)
    let heard = ''
    attack.stdout?.on('data', (chunk: Buffer) => {
      heard = chunk.toString()
    })
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    attacked.push(...(await round()))
    attack.stdin?.end()
    await once(attack, 'exit')
    console.log(`attack, run ${run + 1}: ${heard.trim().split('\n').at(-1)}`)
  }
  const [before, during] = [quiet, attacked].map((all) => percentile(all, 0.99)) as [number, number]
  const medians = [quiet, attacked].map((all) => percentile(all, 0.5).toFixed(1)).join(' and ')
  console.log(
    `a good client, ms: p99 ${before.toFixed(1)} in quiet, ${during.toFixed(1)} attacked ` +
      `(medians ${medians}): ratio ${(during / before).toFixed(2)}, ${atMost(2, during / before)}`,
  )
}

const compare = async (net: Namespace, runs: number, count: number): Promise<void> => {
  const listener = { host: net.host, port: 0, tls: 'none', ip_credentials: true }
  const postern = await new Postern({ submission: [listener], limits: { connections: FULL } }).start()
  try {
    await measure(net, postern, runs, count)
  } finally {
    await postern.remove()
  }
}

export const attackBench = async (runs: number, count: number): Promise<void> => {
  const net = namespace(100)
  if (typeof net === 'string') {
    console.log(`attack: ${net}`)
    return
  }
  try {
    await compare(net, runs, count)
  } finally {
    net.remove()
  }
}
