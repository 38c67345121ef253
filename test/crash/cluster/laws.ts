/** What holds for all daemons together while nothing is broken: windows, revocation. */
import { createTransport } from 'nodemailer'
import { eventually } from '../../parts/eventually.js'
import { few } from '../balance.js'
import type { Daemon } from './daemon.js'
import type { Fleet } from './fleet.js'

const LIMIT = 100
/** For each daemon. */
const OVER_HTTP = 45
const OVER_SMTP = 10
const TRIES = 3

const mail = (to: string) => ({ from: 'load@gw.test', to, subject: 'crash 1', text: 'x' })

/** Without a Message-ID, which the daemon makes of its own id. */
const RAW = 'From: load@gw.test\r\nTo: w@sink.test\r\nSubject: crash 1\r\n\r\nx\r\n'

const post = ({ postern }: Daemon, key: string, to: string) =>
  postern.api('POST', '/v1/emails', key, mail(to))

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
    // on a busy machine it takes most of one
    if (tries > 0) await eventually('a minute begins', () => Date.now() % 60_000 < 5_000, { ms: 120_000 })
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

/** So many keys at a time, each made, used and revoked in turn. */
const HANDS = 8

/** What one daemon revokes no other takes, from the answer on. */
export const revoked = async (fleet: Fleet, times: number): Promise<string[]> => {
  const { token } = await fleet.first.postern.json('session', 'create')
  const { workspace_id } = await fleet.first.postern.json('key', 'create', '--workspace', 'default')
  let left = times
  const wrong: string[] = []
  const makeAndRevoke = async (i: number): Promise<void> => {
    const [by, ...others] = [0, 1, 2].map((n) => fleet.daemons[(i + n) % 3]) as [Daemon, Daemon, Daemon]
    const made = await by.postern.api('POST', '/v1/api-keys', token, { name: 'short', workspace_id })
    const [id, secret] = [made.body?.id, made.body?.secret]
    const before = await Promise.all(
      others.map(({ postern }) => postern.api('GET', '/v1/emails?limit=1', secret)),
    )
    await by.postern.api('DELETE', `/v1/api-keys/${id}`, token)
    const after = await Promise.all(others.map((other) => post(other, secret, 'revoked@sink.test')))
    const found = [made, ...before, ...after].map(({ status }) => status).join(' ')
    if (found !== '201 200 200 401 401') wrong.push(`${id} ${found}`)
  }
  const hand = async (): Promise<void> => {
    while (left > 0) await makeAndRevoke(left--)
  }
  await Promise.all(Array.from({ length: HANDS }, hand))
  return few('keys that are revoked and taken elsewhere', wrong)
}
