/**
 * The listener for programs of another age, tried with OpenSSL's own client:
 * TLS 1.0 to 1.2 on `legacy`, 1.2 and newer elsewhere.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import t from 'tap'
import { openDoor, PASSWORD } from './doors.js'

const OPENSSL = '/usr/bin/openssl'
const login = Buffer.from(`\0me\0${PASSWORD}`).toString('base64')

/** Speaks lines over `openssl s_client`; a line goes out when the reply to the one before has come. */
const speak = async (port: number, flags: readonly string[], lines: readonly string[]): Promise<string> => {
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-quiet', '-ign_eof', ...flags]
  const child = spawn(OPENSSL, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let said = ''
  let complaints = ''
  const left = [...lines]
  // with STARTTLS the greeting is over; what comes before the handshake waits in the pipe
  if (flags.includes('-starttls')) child.stdin.write(`${left.shift()}\r\n`)
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString()
  })
  child.stdin.on('error', () => {})
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    const last = said.slice(said.lastIndexOf('\n', said.length - 2) + 1)
    const line = /^\d{3} .*\r\n$/.test(last) ? left.shift() : undefined
    if (line !== undefined) child.stdin.write(`${line}\r\n`)
  })
  await new Promise<void>((resolve) => child.once('close', () => resolve()))
  return `${said}${complaints}`
}

const MAIL = [
  'EHLO old.test',
  `AUTH PLAIN ${login}`,
  'MAIL FROM:<a@b.test>',
  'RCPT TO:<c@d.test>',
  'DATA',
  'From: a@b.test\r\n\r\nHello\r\n.',
  'QUIT',
]

const VERSIONS = {
  '-tls1': /^TLSv1 /,
  '-tls1_1': /^TLSv1\.1 /,
  '-tls1_2': /^TLSv1\.2 /,
  '-tls1_3': /^TLSv1\.3 /,
} as const

const OLD = ['-cipher', 'DEFAULT@SECLEVEL=0']

if (!existsSync(OPENSSL)) t.plan(0, 'skipped: openssl is not installed')
else {
  for (const version of Object.keys(VERSIONS) as (keyof typeof VERSIONS)[]) {
    t.test(`legacy listener, ${version}`, async (t) => {
      const { door, taken, port } = await openDoor('legacy')
      t.teardown(() => door.stop())
      const said = await speak(port, ['-starttls', 'smtp', version, ...OLD], MAIL)
      if (version === '-tls1_3') return t.match(said, /alert protocol version/i)
      t.match(said, /^250 2\.6\.0 Ok: queued as em_/m)
      t.equal(taken.mails.length, 1)
      t.match(taken.mails[0]?.received.tls, VERSIONS[version])
    })
  }

  for (const [name, flags] of [
    ['starttls', ['-starttls', 'smtp']],
    ['implicit', []],
  ] as const) {
    t.test(`${name} listener: nothing older than 1.2`, async (t) => {
      const { door, taken, port } = await openDoor(name)
      t.teardown(() => door.stop())
      for (const version of ['-tls1', '-tls1_1']) {
        const said = await speak(port, [...flags, version, ...OLD], MAIL)
        t.match(said, /alert protocol version|unsupported protocol|no protocols available/i, version)
      }
      t.equal(taken.mails.length, 0)
    })
  }
}
