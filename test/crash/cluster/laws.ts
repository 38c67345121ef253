/** What holds for all daemons together while nothing is broken: windows, keys that make one mail, revocation. */
import { createTransport } from 'nodemailer'
import { eventually } from '../../parts/eventually.js'
import type { Daemon, Fleet } from './fleet.js'

const LIMIT = 100
/** For each daemon. */
const OVER_HTTP = 45
const OVER_SMTP = 10
const TRIES = 3

const mail = (to: string) => ({ from: 'load@gw.test', to, subject: 'crash 1', text: 'x' })

/** Without a Message-ID, which the daemon makes of its own id. */
const RAW = 'From: load@gw.test\r\nTo: w@sink.test\r\nSubject: crash 1\r\n\r\nx\r\n'

const post = async ({ postern }: Daemon, key: string, to: string, token?: string) => {
  const headers = token === undefined ? {} : { 'idempotency-key': token }
  return postern.api('POST', '/v1/emails', key, mail(to), headers)
}

const overSmtp = async ({ postern }: Daemon, key: string): Promise<number> => {
  const client = createTransport({
    host: '127.0.0.1',
    port: postern.ports.submission[0] ?? 0,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'x', pass: key },
    pool: true,
    maxConnections: 1,
  })
  let taken = 0
  for (let i = 0; i < OVER_SMTP; i++)
    await client.sendMail({ envelope: { from: 'load@gw.test', to: `w${i}@sink.test` }, raw: RAW }).then(
      () => {
        taken += 1
      },
      () => {},
    )
  client.close()
  return taken
}

/** A limit of 100 a minute is 100 over three daemons and both doors. */
export const exactWindow = async (fleet: Fleet): Promise<string[]> => {
  const minute = (): number => Math.floor(Date.now() / 60_000)
  for (let tries = 0; tries < TRIES; tries++) {
    const key = await fleet.key('default', LIMIT)
    const began = minute()
    const taken = await Promise.all(
      fleet.daemons.map(async (daemon) => {
        const posts = Array.from({ length: OVER_HTTP }, (_, i) => post(daemon, key, `v${i}@sink.test`))
        const [bySmtp, answers] = await Promise.all([overSmtp(daemon, key), Promise.all(posts)])
        return bySmtp + answers.filter(({ status }) => status === 202).length
      }),
    )
    if (minute() !== began) continue // two windows
    const sum = taken.reduce((a, b) => a + b)
    return sum === LIMIT ? [] : [`${sum} mails in a window of ${LIMIT}: ${taken.join(' + ')}`]
  }
  return ['the clock left no minute to send in']
}

/** Equal mails with one key, at once and everywhere, are one. */
export const oneMailAKey = async (fleet: Fleet): Promise<string[]> => {
  const token = `key-${fleet.random()}`
  const ids = new Set<string>()
  const others: number[] = []
  const callers = Array.from({ length: 50 }, async (_, i) => {
    const daemon = fleet.daemons[i % fleet.daemons.length] as Daemon
    // 409: another call with the key is under way
    await eventually('a mail with a key is answered', async () => {
      const { status, body } = await post(daemon, fleet.keys.default, 'one@sink.test', token)
      if (status === 202) ids.add(body.id)
      else if (status !== 409) others.push(status)
      return status !== 409
    })
  })
  await Promise.all(callers)
  return [
    ...(ids.size === 1 ? [] : [`50 equal mails with one key made ${ids.size}`]),
    ...(others.length === 0 ? [] : [`a mail with a key was answered ${others}`]),
  ]
}

/** What one daemon revokes no other takes. */
export const revoked = async (fleet: Fleet, times: number): Promise<string[]> => {
  let wrong = 0
  for (let i = 0; i < times; i++) {
    const [by, other] = [fleet.daemons[i % 3], fleet.daemons[(i + 1 + (i % 2)) % 3]] as [Daemon, Daemon]
    const made = await by.postern.json('key', 'create', '--workspace', 'default')
    const before = await other.postern.api('GET', '/v1/emails?limit=1', made.secret)
    await by.postern.json('key', 'revoke', made.id, '--yes')
    const after = await post(other, made.secret, 'revoked@sink.test')
    if (before.status !== 200 || after.status !== 401) wrong += 1
  }
  return wrong === 0 ? [] : [`${wrong} of ${times} revoked keys were taken elsewhere`]
}
