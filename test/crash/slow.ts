/**
 * A disk that takes its time: each fsync of the daemon lasts so many milliseconds longer, by a library that is put before
 * libc. Meanwhile the daemon is killed at any moment, or told to end with 200 requests on their way.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { few } from './balance.js'
import { killCycles } from './kill.js'
import type { Books, RigOptions } from './rig.js'

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_for_it(void) { usleep(atoi(getenv("SLOW_FSYNC_US"))); }
#define SLOW(name) int name(int fd) { \\
  static int (*real)(int); \\
  if (!real) real = (int (*)(int)) dlsym(RTLD_NEXT, #name); \\
  wait_for_it(); \\
  return real(fd); }
SLOW(fsync)
SLOW(fdatasync)
`

export interface SlowDisk {
  env(ms: number): NodeJS.ProcessEnv
  remove(): void
}

/** What makes a disk slow, or why it cannot be made here. */
export const slowDisk = (): SlowDisk | string => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-slow-'))
  chmodSync(folder, 0o755) // a database server has a user of its own
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const library = join(folder, 'slow.so')
  const words = ['-shared', '-fPIC', '-O1', '-x', 'c', '-', '-o', library, '-ldl']
  const { error, status, stderr } = spawnSync('cc', words, { input: SOURCE, encoding: 'utf8' })
  if (error === undefined && status === 0)
    return { env: (ms) => ({ LD_PRELOAD: library, SLOW_FSYNC_US: String(ms * 1_000) }), remove }
  remove()
  return error === undefined ? stderr : 'there is no C compiler (Debian: gcc)'
}

/** The books of kills, with each fsync so much slower. */
export const slowKills =
  (ms: number) =>
  async (cycles: number, options: RigOptions): Promise<Books | string> => {
    const disk = slowDisk()
    if (typeof disk === 'string') return disk
    try {
      return await killCycles(cycles, { ...options, env: disk.env(ms) })
    } finally {
      disk.remove()
    }
  }

/** Requests that are on their way together. */
const POSTS = 200
const SESSIONS = 20
/** Of each fsync. */
const SLOW_MS = 100

export interface Ended {
  readonly cycles: number
  readonly stored: number
  /** Answered with 202 or 250. */
  readonly answered: number
  /** Refused with words, while it was ending. */
  readonly refused: number
  /** Heard nothing. */
  readonly cut: number
  readonly otherAnswers: readonly string[]
  readonly storedUnanswered: readonly string[]
  readonly answeredUnstored: readonly string[]
  readonly otherEnds: readonly unknown[]
  readonly slowestEndMs: number
}

interface Caller {
  readonly subject: string
  readonly said: string
}

/** Every second request takes the way through the framework, which a header asks for. */
const post = (postern: Postern, agent: Agent, key: string, subject: string, n: number): Promise<Caller> =>
  new Promise((resolve) => {
    const body = JSON.stringify({ from: 'a@gw.test', to: `p${n}@sink.test`, subject, text: 'x'.repeat(500) })
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(n % 2 === 0 && { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }),
    }
    const call = request(
      { host: '127.0.0.1', port: postern.ports.http, path: '/v1/emails', method: 'POST', agent, headers },
      (answer) => {
        answer.resume()
        answer.once('end', () => resolve({ subject, said: String(answer.statusCode) }))
        answer.once('error', () => resolve({ subject, said: `${answer.statusCode} cut` }))
      },
    )
    call.once('error', () => resolve({ subject, said: '' }))
    call.end(body)
  })

/** A session that has said all but the dot; `dot` says it. */
const session = async (port: number, key: string, subject: string) => {
  const socket: Socket = connect(port, '127.0.0.1')
  let heard = ''
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.on('error', () => {})
  const say = async (text: string): Promise<string> => {
    heard = ''
    if (text !== '') socket.write(text)
    await eventually('a reply', () => /^\d{3} .*\r\n/m.test(heard) || socket.closed, { every: 5 })
    return /^\d{3} /m.exec(heard)?.[0].trim() ?? ''
  }
  await say('')
  const login = Buffer.from(`\0x\0${key}`).toString('base64')
  for (const line of [
    'EHLO x',
    `AUTH PLAIN ${login}`,
    'MAIL FROM:<a@gw.test>',
    'RCPT TO:<s@sink.test>',
    'DATA',
  ])
    await say(`${line}\r\n`)
  const dot = async (): Promise<Caller> => {
    const said = await say(`From: a@gw.test\r\nSubject: ${subject}\r\n\r\nx\r\n.\r\n`)
    socket.destroy()
    return { subject, said }
  }
  return { dot }
}

const subjects = async (postern: Postern, key: string, prefix: string): Promise<string[]> => {
  const found: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await postern.api('GET', `/v1/emails?limit=100${cursor}`, key)
    found.push(...body.data.map(({ subject }: { subject: string }) => subject))
    if (!body.pagination.has_next) return found.filter((subject) => subject.startsWith(prefix))
    cursor = `&cursor=${body.pagination.next_cursor}`
  }
}

const isYes = ({ said }: Caller): boolean => said === '202' || said === '250'
/** What a daemon that ends may say. */
const isNo = ({ said }: Caller): boolean => said === '503' || said === '421' || said === '451'

/** SIGTERM with all of these on their way: whatever is stored then was answered, and the other way round. */
export const slowEnds = async (
  cycles: number,
  { random, settings, env = {} }: RigOptions,
): Promise<Ended> => {
  const mx = await new PlainMx(() => '').start()
  const postern = new Postern({
    submission: [{ host: '127.0.0.1', port: 0, tls: 'none' }],
    rate_limit: { per_minute: 1_000_000 },
    ...settings,
  })
  const all: Caller[] = []
  const stored: string[] = []
  const otherEnds: unknown[] = []
  let slowestEndMs = 0
  try {
    await postern.start()
    await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
    const key = await postern.key('--rate-limit', '1000000')
    for (let cycle = 0; cycle < cycles; cycle++) {
      await postern.stop()
      await postern.start(env)
      const agent = new Agent({ keepAlive: true, maxSockets: POSTS })
      const name = (n: number | string): string => `c${cycle}-${n}-`
      const port = postern.ports.submission[0] ?? 0
      const sessions = await Promise.all(
        Array.from({ length: SESSIONS }, (_, n) => session(port, key, name(`s${n}`))),
      )
      const calls = Array.from({ length: POSTS }, (_, n) => post(postern, agent, key, name(n), n))
      calls.push(...sessions.map(({ dot }) => dot()))
      await sleep(random() * 4 * SLOW_MS) // before the first is stored, or after the last
      const began = performance.now()
      const end = await postern.stop('SIGTERM')
      slowestEndMs = Math.max(slowestEndMs, performance.now() - began)
      if (end !== 0) otherEnds.push(end)
      all.push(...(await Promise.all(calls)))
      agent.destroy()
      await postern.start()
      stored.push(...(await subjects(postern, key, `c${cycle}-`)))
    }
  } finally {
    await postern.remove()
    await mx.stop()
  }
  const answered = new Set(all.filter(isYes).map(({ subject }) => subject))
  const there = new Set(stored)
  return {
    ...{ cycles, stored: stored.length, answered: answered.size },
    refused: all.filter(isNo).length,
    cut: all.filter(({ said }) => said === '').length,
    otherAnswers: all.filter((one) => !isYes(one) && !isNo(one) && one.said !== '').map(({ said }) => said),
    storedUnanswered: stored.filter((subject) => !answered.has(subject)),
    answeredUnstored: [...answered].filter((subject) => !there.has(subject)),
    ...{ otherEnds, slowestEndMs: Math.round(slowestEndMs) },
  }
}

/** The same with each fsync of the daemon slower. */
export const slowDiskEnds = async (cycles: number, options: RigOptions): Promise<Ended | string> => {
  const disk = slowDisk()
  if (typeof disk === 'string') return disk
  try {
    return await slowEnds(cycles, { ...options, env: disk.env(SLOW_MS) })
  } finally {
    disk.remove()
  }
}

/** Every demand that is not met, in words. */
export const unmetEnds = (ended: Ended): string[] => [
  ...few('otherAnswers', ended.otherAnswers),
  ...few('storedUnanswered', ended.storedUnanswered),
  ...few('answeredUnstored', ended.answeredUnstored),
  ...few('otherEnds', ended.otherEnds),
  ...(ended.answered === 0 ? ['nothing was answered'] : []),
]
