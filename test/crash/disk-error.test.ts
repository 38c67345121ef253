/**
 * The disk begins to fail under the whole daemon (libfiu): clients at both doors
 * are told to come again, never of a bug; the daemon ends with 74 and says why,
 * not that it could not tidy up.
 */
import { spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

const LIBRARIES = '/usr/lib/fiu'
const FAULTS = ['posix/io/sync/*', 'posix/io/rw/pwrite', 'posix/io/dir/unlink', 'posix/io/rw/pread']

/** Mails one after the other over one SMTP session, and all replies to them. */
const sendOn = (port: number, key: string): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const replies: string[] = []
    const auth = Buffer.from(`\0x\0${key}`).toString('base64')
    const mail = ['MAIL FROM:<a@b.test>', 'RCPT TO:<c@d.test>', 'DATA', 'From: a@b.test\r\n\r\nx\r\n.']
    const steps = ['EHLO client.test', `AUTH PLAIN ${auth}`]
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('data', (chunk: Buffer) => {
      replies.push(...chunk.toString('latin1').trim().split('\r\n'))
      if (steps.length === 0) steps.push(...mail)
      socket.write(`${steps.shift()}\r\n`)
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(replies))
  })

const fiu = spawnSync('fiu-ctrl', ['-h'])
if (fiu.error !== undefined) t.plan(0, 'skipped: fiu-ctrl is not installed (Debian: fiu-utils)')
else {
  const postern = new Postern({
    submission: [{ host: '127.0.0.1', port: 0, tls: 'none' }],
  })
  t.teardown(() => postern.remove())
  const preload = ['fiu_run_preload.so', 'fiu_posix_preload.so'].map((name) => join(LIBRARIES, name))
  await postern.start({
    LD_PRELOAD: preload.join(' '),
    FIU_CTRL_FIFO: join(postern.dir, 'fiu'),
    FIU_ENABLE: '',
  })
  const key = await postern.key('--mode', 'test', '--rate-limit', '1000000')

  const statuses: number[] = []
  const bodies: string[] = []
  let posting = true
  const post = async (): Promise<void> => {
    while (posting) {
      try {
        const answer = await postern.api('POST', '/v1/emails', key, {
          from: 'a@b.test',
          to: 'c@d.test',
          text: 'x',
        })
        statuses.push(answer.status)
        if (answer.status >= 500) bodies.push(answer.text)
      } catch {
        // the daemon is gone, or going
        if (statuses.some((status) => status >= 500)) return
        await new Promise(setImmediate)
      }
    }
  }
  const posts = Array.from({ length: 16 }, post)
  const sessions = Array.from({ length: 8 }, () => sendOn(postern.ports.submission[0] ?? 0, key))
  await eventually('fifty answers', () => statuses.length >= 50, { every: 1 })
  const words = FAULTS.flatMap((name) => ['-c', `enable name=${name}`])
  const told = spawnSync('fiu-ctrl', ['-f', join(postern.dir, 'fiu'), ...words, String(postern.pid)])
  const ended = await postern.ended
  posting = false
  await Promise.all(posts)
  const replies = (await Promise.all(sessions)).flat()

  t.equal(told.status, 0, String(told.stderr))
  t.equal(ended, 74)
  // the commit that met the fault may have been a follower's: then few hear of it before the daemon is gone
  const later = replies.filter((reply) => /^4/.test(reply))
  t.strictSame(
    [...new Set(statuses)].filter((status) => status !== 202 && status !== 503),
    [],
  )
  t.ok(bodies.every((body) => body.includes('service.unavailable')))
  t.ok(replies.some((reply) => reply.includes('queued as')))
  t.ok(
    later.every((reply) => /^(?:452 4\.3\.1|421 4\.3\.2) /.test(reply)),
    'come again',
  )
  t.ok(bodies.length + later.length > 0, 'somebody was told')
  t.notMatch(replies.join('\n'), /internal\.unexpected/, 'nobody is told of a bug')
  const said = postern.output.filter((line) => line.startsWith('postern: '))
  t.match(said, [/^postern: the store failed: /])
  t.equal(said.length, 1)
}
