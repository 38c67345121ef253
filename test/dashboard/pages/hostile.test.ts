/**
 * Mails that try to act, looked at in a real browser: every one of them alone in a preview, and all of their text in
 * subjects, names, headers and replies. A server that they all point to must hear nothing.
 */
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium } from 'playwright-core'
import t from 'tap'
import { hostile } from '../../fixtures/hostile.js'
import { Browser, signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

const CHROMIUM = '/usr/bin/chromium'
t.setTimeout(240_000)

const heard: string[] = []
const canary = createServer((request, response) => {
  heard.push(`${request.method} ${request.url}`)
  response.end()
})
await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
t.teardown(() => canary.close())
const host = `127.0.0.1:${(canary.address() as AddressInfo).port}`
const tried = hostile(host)

const postern = new Postern({ submission: [] })
t.teardown(() => postern.remove())
await postern.start()
const key = await postern.key('--mode', 'test')
const send = async (mail: Record<string, unknown>): Promise<string> => {
  const { body, status } = await postern.api('POST', '/v1/emails', key, {
    ...{ from: 'a@acme.test', to: 'bounced@example.com', subject: 's' },
    ...mail,
  })
  if (status !== 202) throw new Error(JSON.stringify(body))
  return body.id as string
}
const oneLine = (text: string) => text.replace(/[\r\n\t]+/g, ' ').slice(0, 900)
const ids: string[] = []
for (const html of tried) ids.push(await send({ html, subject: oneLine(html), text: html }))
const all = await send({ html: `${tried.join('\n')}${'<p>filler</p>'.repeat(100)}`, text: tried.join('\n') })
const browser = await signedIn(postern)

t.test('each preview is answered in its sandbox, and only to a frame', async (t) => {
  for (const id of [ids[0], all]) {
    const seen = await browser.request('GET', `/emails/${id}/preview`)
    t.equal(seen.status, 200)
    t.match(seen.headers.get('content-security-policy'), /^sandbox; default-src 'none'; .*img-src data:;/)
    t.equal(seen.headers.get('x-content-type-options'), 'nosniff')
    t.equal(seen.headers.get('referrer-policy'), 'no-referrer')
    for (const dest of ['document', 'script', 'image', 'object']) {
      const headers = { 'sec-fetch-dest': dest }
      t.equal((await browser.request('GET', `/emails/${id}/preview`, { headers })).status, 403, dest)
    }
  }
  const asked = await browser.request('GET', `/emails/${all}/preview?images=once`)
  t.match(asked.headers.get('content-security-policy'), /^sandbox; .*img-src data: https: http:;/)
  const stranger = await new Browser(postern.url).request('GET', `/emails/${all}/preview`)
  t.equal(stranger.status, 303, 'nobody without a session')
})

t.test('source and attachments are saved, and never opened', async (t) => {
  const id = await send({
    text: 'x',
    attachments: [{ filename: '../"evil\u202e.html', content: Buffer.from('<script>').toString('base64') }],
  })
  for (const path of [`/emails/${id}/source`, `/emails/${id}/attachments/1`]) {
    const seen = await browser.request('GET', path)
    t.equal(seen.headers.get('content-type'), 'application/octet-stream', path)
    t.match(seen.headers.get('content-disposition'), /^attachment; filename="[\w. -]+"/)
    t.match(seen.headers.get('content-security-policy'), /^sandbox; default-src 'none'/)
  }
  for (const n of ['0', '2', '-1', 'x', '1e0']) {
    t.equal((await browser.request('GET', `/emails/${id}/attachments/${n}`)).status, 404, n)
  }
})

t.test('a report is plain text', async (t) => {
  const id = await send({ to: 'ana@example.com', text: 'x' })
  await postern.until(key, id, ['delivered'])
  const { html } = await browser.request('GET', `/emails/${id}`)
  const [, page = ''] = /href="([^"]+\/events\/evt_[^"]+)"/.exec(html) ?? []
  const read = await browser.request('GET', page)
  t.match(read.html, /<th[^>]*>Action<\/th>|>delivered</, 'what it says, as a table')
  const path = `${page}/report`
  t.match(read.html, `href="${path}"`)
  const seen = await browser.request('GET', path)
  t.equal(seen.status, 200)
  t.equal(seen.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.equal(seen.headers.get('x-content-type-options'), 'nosniff')
  t.match(seen.headers.get('content-security-policy'), /^sandbox; default-src 'none'/)
  t.match(seen.html, /^Action: delivered/m)
  const stranger = await new Browser(postern.url).request('GET', path)
  t.equal(stranger.status, 303, 'nobody without a session')
  t.equal((await browser.request('GET', path.replace(/evt_.{4}/, 'evt_0000'))).status, 404)
})

t.test('ten megabytes of HTML do not keep the daemon', async (t) => {
  const id = await send({ html: '<p>x</p>'.repeat(1_300_000) })
  const seen = await browser.request('GET', `/emails/${id}`)
  t.equal(seen.status, 200)
  t.ok(seen.html.length < 400_000, `${seen.html.length} characters`)
  t.match(seen.html, /This is the beginning/)
  t.ok((await browser.request('GET', `/emails/${id}/preview`)).html.length < 2_000_000)
})

const skip = existsSync(CHROMIUM) ? false : `${CHROMIUM} is not here`
t.test('a real browser: nothing runs, loads or opens', { skip }, async (t) => {
  const real = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => real.close())
  const context = await real.newContext({ viewport: { width: 390, height: 844 } })
  const value = browser.cookie('postern_session') ?? ''
  await context.addCookies([{ name: 'postern_session', value, url: postern.url }])
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('dialog', (dialog) => {
    wrong.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('popup', (popup) => wrong.push(`popup ${popup.url()}`))
  page.on('pageerror', (error) => wrong.push(`error ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(postern.url) && !request.url().startsWith('data:'))
      wrong.push(request.url())
  })
  const look = async (path: string) => {
    await page.goto(postern.url + path, { waitUntil: 'load' })
    const { wide, pwned } = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth - innerWidth,
      pwned: 'pwned' in globalThis,
    }))
    t.ok(wide <= 0, `${path}: nothing is wider than the window (${wide})`)
    t.equal(pwned, false, path)
    t.equal(new URL(page.url()).pathname, path.split('?')[0], 'the page stays')
  }
  for (const id of ids) await look(`/emails/${id}`)
  for (const tab of ['text', 'headers', 'source', 'checks', 'events']) await look(`/emails/${all}?tab=${tab}`)
  await look(`/emails/${all}`)
  await look('/emails?mode=test')
  await look('/?mode=test')
  await postern.json('key', 'create', '--mode', 'test', '--platform', '--name', 'W'.repeat(200))
  await postern.json('workspace', 'create', 'W'.repeat(200), '--slug', 'w'.repeat(63))
  await page.setViewportSize({ width: 1_280, height: 800 })
  for (const path of ['/', '/keys', '/workspaces', '/settings/audit', '/emails?mode=test']) await look(path)
  t.same(wrong, [])
  t.same(heard, [], 'the canary heard nothing')
})
