/**
 * A legacy client submits by SMTP and gets, at its MAIL FROM, what a mail server
 * would send it: swaks → Postern → a real Postfix that refuses → the report in
 * the sender's mailbox, which our own reader and Python's understand.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { overPostfix } from '../parts/over-postfix.js'
import { noPostfix } from '../parts/postfix.js'

const SWAKS = '/usr/bin/swaks'
const why = noPostfix() ?? (existsSync(SWAKS) ? null : 'swaks is not installed (apt-get install swaks)')
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(120_000)
  const { postern, upstream } = await overPostfix(t)
  await postern.json('workspace', 'update', 'default', '--sender-dsn')
  const key = await postern.key()

  /** Submits a mail; answers with its id. */
  const submit = (from: string, to: string, ...more: string[]): string => {
    const args = ['--server', `127.0.0.1:${postern.ports.submission[0]}`, '--tls', '--auth-user', 'apikey']
    const mail = ['--auth-password', key, '--from', from, '--to', to, '--header', 'Subject: Receipt 42']
    const { stdout } = spawnSync(SWAKS, [...args, ...mail, ...more], { encoding: 'utf8' })
    const id = /queued as (em_[0-9a-z]{26})/.exec(stdout)?.[1]
    if (id === undefined) throw new Error(stdout)
    return id
  }

  /** The reports in the mailboxes of the upstream that are about a mail. */
  const reportsOn = async (id: string, sender: string, least = 1): Promise<string[]> => {
    const record = await postern.api('GET', `/v1/emails/${id}`, key)
    const wanted = (raw: string): boolean =>
      raw.includes(`In-Reply-To: ${record.body.message_id}`) && raw.includes(`To: <${sender}>`)
    return eventually(
      `a report on ${id}`,
      () => {
        const found = upstream.delivered().filter(wanted)
        return found.length >= least && found
      },
      { seen: () => upstream.log(), every: 100 },
    )
  }

  t.test('refused at RCPT: the sender has the report, once', async (t) => {
    const id = submit('app@deliver.test', 'nobody@deliver.test')
    const [raw = ''] = await reportsOn(id, 'app@deliver.test')
    t.match(raw, /^Return-Path: <>$/m, 'from the null sender')
    t.match(raw, /^Auto-Submitted: auto-replied$/m)
    t.match(raw, /^Subject: Undelivered: Receipt 42$/m)
    const file = join(postern.dir, 'report.eml')
    writeFileSync(file, raw, 'latin1')
    const read = JSON.stringify(await postern.json('bounce', 'read', file))
    for (const word of ['"bounce"', '"nobody@deliver.test"', '"failed"', '"5.1.1"']) t.match(read, word)
    const events = (await postern.api('GET', `/v1/emails/${id}/events`, key)).body.data
    t.match(events[0], { type: 'email.sender_notified', source: 'system', applied: true, change: false })
    const list = (await postern.api('GET', `/v1/emails?tag=dsn_for:${id}`, key)).body.data
    t.match(list, [{ source: 'system', to: ['app@deliver.test'], subject: 'Undelivered: Receipt 42' }])
    t.equal(list.length, 1)
  })

  t.test('bounced later by a report of the upstream: passed on with its words', async (t) => {
    const [raw = ''] = await reportsOn(submit('app@deliver.test', 'who@local5.test'), 'app@deliver.test')
    t.match(raw, /^Action: failed$/m)
    t.match(raw, /^Status: 5\.1\.1$/m)
    t.match(raw, /no such mailbox here/)
  })

  /** Submits with what the client asks of reports (RFC 3461). */
  const ask = async (to: string, dsn: object): Promise<string> => {
    const auth = { user: 'apikey', pass: key }
    const port = postern.ports.submission[0] ?? 0
    const client = createTransport({ host: '127.0.0.1', port, auth, tls: { rejectUnauthorized: false } })
    const mail = { from: 'app@deliver.test', to, subject: 'Receipt 43', text: 'hello', dsn }
    const { response } = await client.sendMail(mail)
    return /em_[0-9a-z]{26}/.exec(response)?.[0] ?? response
  }

  t.test('NOTIFY: never is silence; success is told, with ENVID and ORCPT', async (t) => {
    const quiet = await ask('nobody@deliver.test', {
      id: 'q',
      return: 'headers',
      notify: 'never',
      recipient: 'x@y.test',
    })
    const wish = { id: 'order-42', return: 'full', notify: ['success', 'failure'], recipient: 'orig@y.test' }
    const [raw = ''] = await reportsOn(await ask('ok@deliver.test', wish), 'app@deliver.test')
    t.match(raw, /^Action: (?:delivered|relayed)$/m)
    t.match(raw, /^Original-Envelope-Id: order-42$/m)
    t.match(raw, /^Original-Recipient: rfc822; orig@y\.test$/m)
    const [failed = ''] = await reportsOn(await ask('nobody@deliver.test', wish), 'app@deliver.test')
    t.match(failed, /^Content-Type: message\/rfc822$/m, 'RET=FULL')
    const told = await postern.api('GET', `/v1/emails?tag=dsn_for:${quiet}`, key)
    t.same(told.body.data, [])
  })

  t.test('a report that is refused makes no other report', async (t) => {
    const id = submit('nobody@deliver.test', 'nobody@deliver.test')
    const byTag = async () => (await postern.api('GET', `/v1/emails?tag=dsn_for:${id}`, key)).body.data
    await eventually('the report bounces', async () => (await byTag())[0]?.status === 'bounced')
    const [report] = await byTag()
    t.equal(report?.status, 'bounced')
    // a later mail's report shows that there was time for one on this
    await reportsOn(submit('app@deliver.test', 'nobody@deliver.test'), 'app@deliver.test')
    t.same((await postern.api('GET', `/v1/emails?tag=dsn_for:${report.id}`, key)).body.data, [])
    const listed = await postern.json('suppression', 'list')
    t.notOk(JSON.stringify(listed).includes(report.id), 'nor does it put the sender on the list')
  })
}
