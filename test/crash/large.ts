/**
 * Mails of 24 MB through both doors beside small ones: every mail that was taken arrives whole, small ones are taken
 * meanwhile, and the memory is given back. How long the small ones wait is told and not judged.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import { eventually } from '../parts/eventually.js'
import { type Books, Rig, type RigOptions } from './rig.js'

const MIB = 1024 * 1024
/** As MIME a third more, which is just below the largest message. */
const ATTACHED = 17 * MIB
const WHOLE = 23 * MIB
/** What is left of a crowd of large mails may not be more. */
const GIVEN_BACK_MB = 120

export interface LargeBooks extends Books {
  readonly large: number
  readonly largeRefused: number
  readonly largeLost: readonly string[]
  readonly otherAnswers: readonly string[]
  /** Of small mails, alone and beside large ones, in milliseconds. */
  readonly alone: Waits
  readonly beside: Waits
  readonly memoryMb: { readonly before: number; readonly most: number; readonly after: number }
}

interface Waits {
  readonly mails: number
  readonly p50: number
  readonly p99: number
}

const waits = (all: readonly number[]): Waits => {
  const sorted = [...all].sort((a, b) => a - b)
  const at = (part: number) => Math.round(sorted[Math.floor((sorted.length - 1) * part)] ?? 0)
  return { mails: all.length, p50: at(0.5), p99: at(0.99) }
}

const rssMb = (pid: number): number =>
  Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)

/** Ids of large mails that were taken, by two senders a door, each with the name that its Message-ID has. */
const large = async (
  rig: Rig,
  rounds: number,
  note: (said: string) => void,
): Promise<Map<string, string>> => {
  const ids = new Map<string, string>()
  const file = Buffer.alloc(ATTACHED, 'large')
  const letter = { from: 'large@gw.test', to: 'large@sink.test', subject: 'large', text: 'x' }
  const posted = { ...letter, attachments: [{ filename: 'a.bin', content: file.toString('base64') }] }
  const overHttp = async (): Promise<void> => {
    const { status, body } = await rig.postern.api('POST', '/v1/emails', rig.key, posted)
    if (status === 202) ids.set(body.id, body.id)
    else note(`${status} ${body?.code}`)
  }
  const transport = createTransport({
    ...{ host: '127.0.0.1', port: rig.postern.ports.submission[0] ?? 0, requireTLS: true },
    ...{ tls: { rejectUnauthorized: false }, auth: { user: 'x', pass: rig.key } },
  })
  let count = 0
  const overSmtp = async (): Promise<void> => {
    const attachments = [{ filename: 'a.bin', content: file }]
    const name = `large-${++count}`
    await transport.sendMail({ ...letter, messageId: `<${name}@gw.test>`, attachments }).then(
      ({ response }) => void ids.set(name, /queued as (em_[0-9a-z]{26})/.exec(response)?.[1] ?? response),
      (error: { response?: string; message: string }) => note(error.response ?? error.message),
    )
  }
  const each = async (send: () => Promise<void>): Promise<void> => {
    for (let round = 0; round < rounds; round++) await send()
  }
  await Promise.all([each(overHttp), each(overHttp), each(overSmtp), each(overSmtp)])
  transport.close()
  return ids
}

export const largeMails = async (rounds: number, options: RigOptions): Promise<LargeBooks> => {
  const taken = new Set<string>()
  const takes = (raw: string): boolean => {
    const head = raw.slice(0, 8_192)
    if (!/^subject: large/im.test(head)) return false
    const name = /^message-id:\s*<([^@]+)@/im.exec(head)?.[1]
    if (name !== undefined && raw.length >= WHOLE) taken.add(name)
    return true
  }
  const rig = await Rig.start({ ...options, takes })
  try {
    const { load, postern } = rig
    await rig.flows()
    load.waits.length = 0
    await sleep(10_000)
    const alone = waits(load.waits.splice(0))
    const before = rssMb(postern.pid)
    let most = before
    const looks = setInterval(() => {
      most = Math.max(most, rssMb(postern.pid))
    }, 50)
    const refused: string[] = []
    const ids = await large(rig, rounds, (said) => refused.push(said))
    const beside = waits(load.waits.splice(0))
    clearInterval(looks)
    const arrived = () => [...ids.keys()].every((name) => taken.has(name))
    await eventually('large mails have arrived', arrived, { every: 200, moves: () => taken.size }).catch(
      () => {},
    )
    const statusOf = async (id: string): Promise<string> =>
      `${id} is ${(await postern.api('GET', `/v1/emails/${id}`, rig.key)).body?.status}`
    const largeLost = await Promise.all(
      [...ids].flatMap(([name, id]) => (taken.has(name) ? [] : [statusOf(id)])),
    )
    const books = await rig.books()
    const isBack = () => rssMb(postern.pid) < before + GIVEN_BACK_MB
    await eventually('its memory is given back', isBack, { every: 200 }).catch(() => {})
    const said = [...refused, ...load.refusals.map((one) => one.said)]
    return {
      ...books,
      ...{ large: ids.size, largeRefused: refused.length },
      largeLost,
      otherAnswers: [...new Set(said.filter((one) => !/^(503 service\.unavailable|452 4\.3\.1 )/.test(one)))],
      ...{ alone, beside, memoryMb: { before, most, after: rssMb(postern.pid) } },
    }
  } finally {
    await rig.remove()
  }
}

export const ofLarge = ({ large, largeLost, otherAnswers, memoryMb }: LargeBooks): string[] => [
  ...(large === 0 ? ['no large mail was taken'] : []),
  ...largeLost.map((one) => `a large mail did not arrive whole: ${one}`),
  ...otherAnswers.map((said) => `answered ${said}`),
  ...(memoryMb.after >= memoryMb.before + GIVEN_BACK_MB ? [`memory ${JSON.stringify(memoryMb)}`] : []),
]
