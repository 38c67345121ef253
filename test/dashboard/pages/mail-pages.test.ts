/** The overview, the list of mails and one mail, as a person with scripts off goes through them. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'

t.setTimeout(120_000)
const postern = new Postern({ submission: [] })
t.teardown(() => postern.remove())
await postern.start()
const browser = await signedIn(postern)
const test = await postern.key('--mode', 'test')
const live = await postern.key()

t.test('before the first mail pages say how to send one', async (t) => {
  for (const path of ['/', '/emails']) {
    const { status, html } = await browser.visit(path)
    t.equal(status, 200)
    t.match(html, /curl http:\/\/127\.0\.0\.1:\d+\/v1\/emails/, path)
    t.match(html, /data-live="mails"/, `${path} follows what comes in`)
    t.match(html, 'KEY=$(postern key create --workspace default', `${path}: the lines make the key they use`)
    t.match(html, /href="\/keys\/new"/, path)
  }
})

const mail = {
  from: 'Acme <a@acme.test>',
  subject: 'Your <b>parcel</b>',
  text: 'Hello',
  html: '<p>Hello</p>',
}
const send = async (key: string, more: Record<string, unknown>): Promise<string> => {
  const { body } = await postern.api('POST', '/v1/emails', key, { ...mail, ...more })
  return body.id as string
}

t.test('in live mode the first test mail is seen where one lands, too', async (t) => {
  await send(test, { to: 'delivered@example.com', subject: 'The very first' })
  const { html } = await browser.visit('/')
  t.match(html, 'No live mail yet.')
  t.match(html, 'The very first')
  t.notMatch(html, /data-live="mails" data-mode/, 'it follows both modes')
})

t.test('a bounce is explained, lifted and sent again', async (t) => {
  const id = await send(test, {
    to: ['bounced@example.com', 'ana@example.com'],
    tags: [{ name: 'kind', value: 'x' }],
  })
  await postern.until(test, id, ['bounced', 'delivered'])
  const row = await browser.visit('/emails?mode=test&status=bounced')
  t.match(row.html, /550 5\.1\.1 No such user here/, 'the reply stands in the row')
  t.match(row.html, /Your &lt;b>parcel/)
  const page = await browser.visit(`/emails/${id}?mode=test`)
  t.match(page.html, /<h1>Bounced for 1 of 2 recipients; 1 have it\.<\/h1>/)
  t.match(page.html, /the mailbox does not exist/)
  t.match(page.html, /this address at it does not/)
  t.match(page.html, /<iframe sandbox/)
  for (const tab of ['text', 'headers', 'source', 'attachments', 'checks', 'events'])
    t.equal((await browser.visit(`/emails/${id}?tab=${tab}`)).status, 200, tab)

  const about = { address: 'bounced@example.com' }
  const stopped = await browser.send(page, 'suppress', { reason: 'asked to' }, about)
  t.match(stopped.html, /is on the suppression list now/)
  const lifted = await browser.send(stopped, 'unsuppress', {}, about)
  t.match(lifted.html, /off the suppression list; this is the mail that goes there now/)
  t.match(lifted.html, new RegExp(`href="/emails/${id}`), 'it says where it was sent from')

  const again = await browser.send(page, 'resend', { to: 'eve@example.com' })
  t.match(again.html, /Sent again: this is the new mail/)
  const wrong = await browser.submit(page, 'resend', { to: 'no address' })
  t.equal(wrong.status, 422)
  t.match(wrong.html, />no address<\/textarea>/, 'what was typed is still there')
})

t.test('a report is read, and shown as it came', async (t) => {
  const id = await send(test, { to: 'delivered@example.com' })
  await postern.until(test, id, ['delivered'])
  const page = await browser.visit(`/emails/${id}?mode=test`)
  const [, path = ''] = /href="(\/emails\/em_\w+\/events\/evt_\w+)[?"]/.exec(page.html) ?? []
  const { status, html } = await browser.visit(path)
  t.equal(status, 200)
  t.match(html, /<h1>Delivered, says <bdi>/)
  for (const said of [
    'Reporting MTA',
    'message/delivery-status',
    '<bdi>delivered@example.com</bdi>',
    '2.0.0',
  ])
    t.match(html, said)
  t.match(html, /<pre[^>]*>[^<]*Reporting-MTA: dns/, 'the raw text stands beside it')
  t.equal((await browser.visit(`${path}x`)).status, 404)
  t.match((await browser.request('GET', `${path}/report`)).headers.get('content-type'), 'text/plain')
})

t.test('mail that waits says why; it is held, released and tried', async (t) => {
  const id = await send(live, { to: 'ana@example.com' })
  const page = await browser.visit(`/emails/${id}`)
  t.match(page.html, /<h1>Waits: .*no upstream/)
  const held = await browser.send(page, 'hold', { reason: 'to look' })
  t.match(held.html, /Held: 1 recipient waits/)
  t.match(held.html, /<h1>Waits: .*held/)
  const released = await browser.send(held, 'release')
  t.match(released.html, /Released: 1 recipient/)
  t.match((await browser.visit('/')).html, /Waiting, by pool/)
})

t.test('scheduled mail gets another time, or none', async (t) => {
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  const id = await send(test, { to: 'ana@example.com', scheduled_at: at(48) })
  const page = await browser.visit(`/emails/${id}?mode=test`)
  t.match(page.html, /<h1>Scheduled: it leaves in \d+ [hd]/)
  const moved = await browser.send(page, 'reschedule', { scheduled_at: at(72) })
  t.match(moved.html, /It leaves at the new time/)
  t.match((await browser.send(moved, 'cancel')).html, /<h1>Canceled/)
})

t.test('the list is searched, and many are changed at once', async (t) => {
  const id = await send(test, { to: 'one@bulk.test', subject: 'Zebra one' })
  await eventually('it is found', async () =>
    (await browser.visit('/emails?mode=test&q=zebra')).html.includes(id),
  )
  const wrong = await browser.visit('/emails?mode=test&q=colour:red')
  t.equal(wrong.status, 422)
  t.match(wrong.html, /value="colour:red"/)
  t.match((await browser.visit('/emails?mode=test&q=nothinglikethis')).html, /No mail is like this/)

  const list = await browser.visit('/emails?mode=test&q=zebra')
  t.match((await browser.submit(list, 'bulk', { reason: 'x' })).html, /Tick some rows first/)
  const ticked = await browser.send(list, 'bulk', { id: id, action: 'resend', reason: 'again' })
  t.match(ticked.html, /Send again: 1 of 1 done/)
  const counted = await browser.submit(list, 'bulk', { which: 'all', action: 'resend', reason: 'again' })
  t.match(counted.html, /<h1>Send again: \d+ mails?\?<\/h1>/)
  const job = await browser.send(counted, 'bulk-go')
  t.match(job.html, /<progress/)
  t.match((await browser.visit('/jobs')).html, /again/)
})

t.test('the overview tells in a sentence, and its figures lead to mails', async (t) => {
  await eventually('it is counted', async () =>
    (await browser.visit('/?mode=test')).html.includes(' delivered, '),
  )
  const { html } = await browser.visit('/?mode=test')
  t.notMatch(html, /All is well/, 'a third bounced')
  t.match(html, /href="\/emails\?mode=test&amp;status=bounced&amp;time=24h"/)
  const [, handed = ''] = /href="(\/emails\?[^"]*-status[^"]*)"/.exec(html) ?? []
  t.match((await browser.visit(handed.replaceAll('&amp;', '&'))).html, /<td/, 'what was sent')
  t.notMatch((await browser.visit(handed.replaceAll('&amp;', '&'))).html, /class="st bad"/)
  for (const time of ['1h', '7d', '30d'])
    t.equal((await browser.visit(`/?mode=test&time=${time}`)).status, 200, time)
})

t.test('a mistake in the search says what it is about', async (t) => {
  const { status, html } = await browser.visit('/emails?q=%22open')
  t.equal(status, 422)
  t.match(html, /The search must close its quotes\./)
})

t.test('a mail that is not there says since when it may be gone', async (t) => {
  const { status, html } = await browser.visit('/emails/em_01m81za3x2etma8yfz9r4zx02m')
  t.equal(status, 404)
  t.match(html, /retention\.emails/)
  t.equal((await browser.visit('/emails/none')).status, 404)
})

t.test('what a search names in vain is said', async (t) => {
  const seen = await browser.visit('/emails?q=key%3Anope+-pool%3Aeu%3C')
  t.match(seen.html, 'No key or credential is called “nope”. No pool is called “eu&lt;”.')
  const known = await browser.visit('/emails?mode=test&q=tag%3Akind%3Dx')
  t.notMatch(known.html, 'No mail has the tag')
  t.match(known.html, 'Your &lt;b>parcel')
  t.match((await browser.visit('/emails?mode=test&tag=kind%3Dx')).html, 'Your &lt;b>parcel')
})

t.test('a test mail is sent from the browser, of any workspace, with any outcome', async (t) => {
  await postern.json('workspace', 'create', 'shop')
  const form = await browser.visit('/emails/test')
  const list = await browser.send(form, 'test-mail', { outcome: 'bounced+5.2.2', workspace: 'shop' })
  t.match(list.html, 'Sent into the sandbox')
  await eventually('it bounced', async () => {
    const { html } = await browser.visit('/emails?mode=test&workspace=shop')
    return html.includes('Mailbox full')
  })
  const wrong = await browser.submit(form, 'test-mail', { from: 'nobody' })
  t.equal(wrong.status, 422)
  t.match(wrong.html, /id="test-mail-from-wrong"/)
})
