/**
 * A list and its readers: mail by both doors through a real Postfix to a mailbox, with the fields of RFC 8058 under both DKIM
 * signatures; the link that stands there is followed, and later mail of that list stays away, as the metrics, the command line
 * and the page say.
 */
import { createTransport } from 'nodemailer'
import t from 'tap'
import { publishedKey, verifies } from '../parts/dkim-verify.js'
import { eventually } from '../parts/eventually.js'
import { overPostfix } from '../parts/over-postfix.js'
import { noPostfix } from '../parts/postfix.js'

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(300_000)
  const { postern, upstream } = await overPostfix(t, { POSTERN_BASE_URL: 'https://mail.gw.test/mail' })
  const key = await postern.key()
  const records = (await postern.json('domain', 'add', 'gw.test')).records as readonly {
    readonly name: string
    readonly value: string
  }[]
  await postern.relayHasRead()

  const byApi = async (to: string, list: string): Promise<string> => {
    const mail = {
      from: 'a@gw.test',
      to,
      subject: 'News',
      html: '<p>Hi</p>',
      text: 'Hi',
      unsubscribe: { list },
    }
    return (await postern.api('POST', '/v1/emails', key, mail)).body.id
  }
  const bySmtp = async (to: string, headers: Record<string, string>): Promise<string> => {
    const transport = createTransport({
      ...{ host: '127.0.0.1', port: postern.ports.submission[1] ?? 0, secure: true },
      ...{ auth: { user: 'apikey', pass: key }, tls: { rejectUnauthorized: false } },
    })
    const mail = { from: 'a@gw.test', to, subject: 'News', text: 'Hi', headers }
    const { response } = await transport.sendMail(mail).finally(() => transport.close())
    return /queued as (em_[0-9a-z]{26})/.exec(response)?.[1] ?? response
  }
  /** As it lies in the mailbox, with the line ends that were signed. */
  const arrived = (id: string): Promise<string> =>
    eventually(
      `${id} arrived`,
      () => {
        const raw = upstream.delivered().find((one) => one.includes(`id ${id}`) || one.includes(`<${id}@`))
        return raw?.replace(/\r?\n/g, '\r\n')
      },
      { seen: () => upstream.log(), every: 100 },
    )
  const linkIn = (raw: string): string =>
    /^List-Unsubscribe:\s+<https:\/\/mail\.gw\.test\/mail(\/u\/[\w-]+)>\r$/m.exec(raw)?.[1] ?? ''
  const click = (path: string) =>
    fetch(postern.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    })

  for (const [door, send] of [
    ['the API', () => byApi('ok@deliver.test', 'news')],
    ['SMTP', () => bySmtp('ok@deliver.test', { 'X-Postern-Unsubscribe': 'offers' })],
  ] as const)
    t.test(`by ${door}: both signatures cover both fields`, async (t) => {
      const raw = await arrived(await send())
      t.match(raw, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
      t.notMatch(raw, /^X-Postern-Unsubscribe/im)
      t.not(linkIn(raw), '')
      for (const { name, value } of records.filter((one) => one.name.includes('_domainkey'))) {
        const selector = name.split('.')[0] ?? ''
        t.ok(verifies(raw, publishedKey(value), selector), `${selector} verifies`)
        const names =
          new RegExp(`s=${selector};[\\s\\S]*?\\bh=([^;]*);`).exec(raw)?.[1]?.replace(/\s/g, '') ?? ''
        for (const field of ['list-unsubscribe', 'list-unsubscribe-post'])
          t.ok(names.toLowerCase().split(':').includes(field), `${selector} covers ${field}`)
        t.notOk(verifies(raw.replace('One-Click\r\n', 'One-click\r\n'), publishedKey(value), selector))
        t.notOk(verifies(raw.replace(/(<https:[^>]+)>/, '$1A>'), publishedKey(value), selector))
      }
    })

  t.test('followed, later mail of that list stays away, whichever door it comes by', async (t) => {
    const path = linkIn(await arrived(await byApi('ok2@deliver.test', 'weekly')))
    const planned = await postern.api('POST', '/v1/emails', key, {
      ...{ from: 'a@gw.test', to: 'ok2@deliver.test', text: 'later', unsubscribe: { list: 'weekly' } },
      scheduled_at: new Date(Date.now() + 8_000).toISOString(),
    })
    for (const method of ['GET', 'HEAD']) t.equal((await fetch(postern.url + path, { method })).status, 200)
    t.same(await postern.json('suppression', 'list', '--list', 'weekly'), [])
    for (const one of [await click(path), await click(path)]) t.equal(one.status, 200)
    t.equal((await click(`${path}A`)).status, 404)
    for (const id of [
      await byApi('OK2@deliver.test', 'weekly'),
      await bySmtp('ok2@deliver.test', { 'X-Postern-Unsubscribe': 'weekly' }),
      planned.body.id as string,
    ]) {
      const [one] = (await postern.until(key, id, ['bounced'])).recipients
      t.match(one, { reason: 'suppressed' })
    }
    await arrived(await byApi('ok2@deliver.test', 'monthly'))
    await arrived(await bySmtp('ok2@deliver.test', {}))
    t.match(await postern.json('suppression', 'list', '--list', 'weekly'), [
      { email: 'ok2@deliver.test', list: 'weekly', origin: 'unsubscribe', source_id: /^em_/ },
    ])
    const metrics = await (await fetch(`http://127.0.0.1:${postern.ports.management}/metrics`)).text()
    for (const [result, n] of [
      ['taken', 1],
      ['repeated', 1],
      ['forged', 1],
    ])
      t.match(metrics, `postern_unsubscribes_total{result="${result}"} ${n}\n`)
    const removed = await postern.cli(
      'suppression',
      'remove',
      'ok2@deliver.test',
      '--list',
      'weekly',
      '--yes',
    )
    t.match(removed.stdout, /removed ok2@deliver\.test \(list weekly\)/)
    await arrived(await byApi('ok2@deliver.test', 'weekly'))
  })

  t.test('SMTP says what is wrong with it', async (t) => {
    const refused = (to: string, headers: Record<string, string>) =>
      bySmtp(to, headers).then(
        (id) => id,
        (error: Error & { response?: string }) => error.response,
      )
    const one = 'ok@deliver.test'
    t.match(await refused(one, { 'X-Postern-Unsubscribe': 'No List' }), /^554 .*its list must be 1 to 64 of/)
    t.match(
      await refused(`${one}, ok2@deliver.test`, { 'X-Postern-Unsubscribe': 'news' }),
      /^554 .*one recipient/,
    )
    const own = { 'X-Postern-Unsubscribe': 'news', 'List-Unsubscribe': '<mailto:stop@gw.test>' }
    t.match(await refused(one, own), /^554 .*List-Unsubscribe of your own/)
    const signature = 'v=1; a=rsa-sha256; d=gw.test; s=x; h=from:list-unsubscribe; bh=x; b=x'
    const signed = { 'X-Postern-Unsubscribe': 'news', 'DKIM-Signature': signature }
    t.match(await refused(one, signed), /^554 .*signature of your own that covers List-Unsubscribe/)
  })
}
