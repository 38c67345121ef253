/**
 * Trouble that ends nothing: a second daemon beside one that stands still, no file
 * descriptors left, a bad file at SIGHUP, an upstream that is gone for long. The
 * process stays, answers what it can, and goes on when the trouble is over.
 */
import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { BIN, cleanEnv, Postern } from '../parts/postern.js'
import { type Books, Rig, type RigOptions } from './rig.js'

const underLoad = async (
  cycles: number,
  options: RigOptions,
  trouble: (rig: Rig) => Promise<void>,
): Promise<Books> => {
  const rig = await Rig.start(options)
  try {
    const { pid } = rig.postern
    await rig.cycles(cycles, () => trouble(rig))
    if (rig.postern.pid !== pid || readdirSync(`/proc/${pid}/fd`).length === 0) rig.otherEnds.push('it ended')
    return await rig.books()
  } finally {
    await rig.remove()
  }
}

/** Of another daemon; one that stays is ended: `SIGKILL`. */
const endOf = (configFile: string): Promise<unknown> =>
  new Promise((resolve) => {
    const options = { env: cleanEnv(), timeout: 60_000, killSignal: 'SIGKILL' } as const
    execFile(process.execPath, [BIN, 'serve', '--config', configFile], options, (error) =>
      resolve(error === null ? 0 : (error.signal ?? error.code)),
    )
  })

export const secondDaemon = (cycles: number, options: RigOptions): Promise<Books> =>
  underLoad(cycles, options, async (rig) => {
    process.kill(rig.postern.pid, 'SIGSTOP')
    try {
      const end = await endOf(rig.postern.configFile)
      if (end !== 75) rig.otherEnds.push(`the second ended with ${end}`)
    } finally {
      process.kill(rig.postern.pid, 'SIGCONT')
    }
    await rig.flows()
  })

/** A connection that says nothing; `refused` when the daemon could not keep it. */
const hog = (port: number, refused: () => void): Socket =>
  connect(port, '127.0.0.1')
    .on('error', () => {})
    .once('close', refused)

export const noDescriptors = (cycles: number, options: RigOptions): Promise<Books> =>
  underLoad(cycles, options, async (rig) => {
    const { pid, ports } = rig.postern
    const limit = (most: number): void =>
      void execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${most}:${16_384}`])
    const hogs: Socket[] = []
    let refused = 0
    limit(readdirSync(`/proc/${pid}/fd`).length + 5)
    try {
      for (let i = 0; i < 50; i++) hogs.push(hog(ports.http, () => refused++))
      await eventually('there are no descriptors', () => refused > 0)
      await sleep(options.random() * 500) // the trouble lasts
    } finally {
      limit(8_192)
      for (const socket of hogs) socket.destroy()
    }
    await rig.flows()
  })

export const badFiles = (cycles: number, options: RigOptions): Promise<Books> =>
  underLoad(cycles, options, async (rig) => {
    const { configFile, pid, output } = rig.postern
    const good = readFileSync(configFile)
    const before = output.filter((line) => line.includes('reload refused')).length
    writeFileSync(configFile, 'nonsense: true\n')
    process.kill(pid, 'SIGHUP')
    await eventually(
      'the reload is refused',
      () => output.filter((line) => line.includes('reload refused')).length > before,
    )
    writeFileSync(configFile, good)
    await rig.flows()
  })

export interface Outage {
  readonly queued: number
  readonly sent: number
  readonly secondCopies: number
  /** How much more memory the daemon held with all that mail queued, and after a kill and a start. */
  readonly grownMb: number
  readonly drainedInMs: number
}

const rssMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

/** The upstream is gone while much mail is taken; the daemon is killed meanwhile; the upstream returns. */
export const outage = async (queued: number): Promise<Outage> => {
  const mx = await new PlainMx((raw) => /^message-id:\s*<([^@]*)@/im.exec(raw)?.[1] ?? '').start()
  const { port } = mx
  await mx.stop()
  const postern = new Postern({ rate_limit: { per_minute: 10_000_000 }, relay: { retry: ['2s'] } })
  const back = new PlainMx((raw) => /^message-id:\s*<([^@]*)@/im.exec(raw)?.[1] ?? '')
  try {
    await postern.start()
    await postern.route(`smtp://127.0.0.1:${port}?tls=none`)
    const key = await postern.key('--rate-limit', '10000000')
    const ids = new Set<string>()
    let before = 0
    for (let n = 0; n < queued; n += 100) {
      const mails = Array.from({ length: 100 }, (_, i) => {
        const to = `u${n + i}@d${n + i}.test`
        return { from: 'load@gw.test', to, subject: 'late', text: 'x' }
      })
      const { status, body, text } = await postern.api('POST', '/v1/emails/batch', key, mails)
      if (status !== 202) throw new Error(`${status} ${text.slice(0, 300)}`)
      for (const { id } of body.data as { id: string }[]) ids.add(id)
      // what a first thousand costs is what any load costs
      if (n < 1_000) before = rssMb(postern.pid)
    }
    const full = rssMb(postern.pid)
    await postern.stop('SIGKILL')
    await postern.start()
    await back.start(port)
    const began = performance.now()
    const sent = () => new Set(back.messages).size
    await eventually('all is sent', () => sent() >= ids.size, { ms: 600_000, every: 200, seen: sent })
    return {
      queued: ids.size,
      sent: sent(),
      secondCopies: back.messages.length - sent(),
      grownMb: Math.round(Math.max(full, rssMb(postern.pid)) - before),
      drainedInMs: Math.round(performance.now() - began),
    }
  } finally {
    await postern.remove()
    await back.stop()
  }
}
