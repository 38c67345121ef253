/** What holds for every page: who may look, what a form must carry, where links lead, and what the stream tells. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Browser, formOf, signedIn } from '../parts/browser.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const key = await postern.key('--mode', 'test')
const browser = await signedIn(postern)

const send = async (subject: string): Promise<string> => {
  const mail = { from: 'a@shop.test', to: ['delivered@example.com'], subject, text: 'hello' }
  const { status, body } = await postern.api('POST', '/v1/emails', key, mail)
  t.equal(status, 202)
  return body.id
}

t.test('without a session every page leads to the sign-in and back', async (t) => {
  const { status, to, headers } = await new Browser(postern.url).request('GET', '/emails?status=bounced')
  t.equal(status, 303)
  t.equal(to, `/sign-in?return_to=${encodeURIComponent('/emails?status=bounced')}`)
  t.match(headers.get('content-security-policy'), /default-src 'none'/, 'a redirect is guarded, too')
  t.equal(headers.get('x-content-type-options'), 'nosniff')
})

t.test('a page is guarded, and never kept', async (t) => {
  const { status, headers, html } = await browser.visit('/emails?mode=test')
  t.equal(status, 200)
  t.match(headers.get('content-security-policy'), /default-src 'none'; script-src 'self'/)
  t.equal(headers.get('cache-control'), 'no-store')
  t.notMatch(html, / style="| on[a-z]+="|<script>/, 'nothing inline')
  const head = await browser.request('HEAD', '/emails')
  t.same([head.status, head.html], [200, ''])
})

t.test('what is not there is a page', async (t) => {
  const missing = await browser.request('GET', '/no-such-page', { headers: { accept: 'text/html' } })
  t.equal(missing.status, 404)
  t.match(missing.html, /Nothing is here/)
})

t.test('an address that cannot be read is a page, too', async (t) => {
  for (const path of ['/emails/%ff', '/%ff']) {
    const shown = await browser.request('GET', path, { headers: { accept: 'text/html' } })
    t.equal(shown.status, 404, path)
    t.match(shown.html, /Nothing is here/)
  }
})

t.test('what is refused before anybody signed in says so', async (t) => {
  const stranger = new Browser(postern.url)
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const large = 'a'.repeat(5_000_000)
  for (const path of ['/sign-in', '/setup/abc', '/sign-in/office/logout', '/emails']) {
    const tooLarge = await stranger.request('POST', path, { headers: type, body: large })
    t.match(tooLarge, { status: 413, html: /Too large/ }, path)
    const headers = { ...type, 'content-encoding': 'gzip' }
    const broken = await stranger.request('POST', path, { headers, body: 'no gzip' })
    t.equal(broken.status, 400, path)
    t.match(broken.headers.get('content-type'), 'text/html')
  }
})

t.test('assets may be kept for ever, and change their name with their content', async (t) => {
  const { html } = await browser.visit('/emails')
  const style = /href="(\/assets\/[0-9a-f]{16}\/style\.css)"/.exec(html)?.[1] ?? ''
  const main = style.replace('style.css', 'main.js')
  for (const path of [style, main, style.replace('style.css', 'uplot.js')]) {
    const { status, headers } = await browser.request('GET', path)
    t.equal(status, 200, path)
    t.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
    t.equal(headers.get('content-encoding'), 'gzip')
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    const { status: again } = await browser.request('GET', path, {
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    })
    t.equal(again, 304)
  }
  const old = await browser.request('GET', style.replace(/[0-9a-f]{16}/, '0123456789abcdef'))
  t.equal(old.status, 404)
  const scripts = [
    'main',
    'copy',
    'keys',
    'menus',
    'times',
    'span',
    'live',
    'stream',
    'share',
    'rows',
    'uplot',
  ]
  const sizes = await Promise.all(
    scripts.map(async (name) => (await browser.request('GET', main.replace('main', name))).html),
  )
  t.ok(sizes.reduce((sum, text) => sum + gzipSync(text).length, 0) < 40_000, 'all scripts in 40 kB')
  t.ok(gzipSync((await browser.request('GET', style)).html).length < 20_000, 'the style in 20 kB')
})

t.test('a form of somebody else changes nothing', async (t) => {
  const page = await browser.visit('/settings/look')
  const form = formOf(page.html, 'theme')
  const fields = { ...form?.fields, theme: 'dark', back: '/emails' }
  for (const origin of ['https://evil.example', 'http://127.0.0.1:1', 'null']) {
    const { status } = await browser.post('/settings/look', fields, { origin })
    t.equal(status, 403, origin)
  }
  const stale = await browser.post('/settings/look', { ...fields, _form: 'of yesterday' })
  t.equal(stale.status, 403)
  t.equal(browser.cookie('postern_theme'), null)
  const done = await browser.post('/settings/look', fields)
  t.same([done.status, done.to], [303, '/emails'])
  t.equal(browser.cookie('postern_theme'), 'dark')
  t.match((await browser.visit('/emails')).html, /<html lang="en" data-theme="dark">/)
})

t.test('a stale form keeps what was typed', async (t) => {
  const page = await browser.visit('/keys/new')
  const form = formOf(page.html, 'create')
  t.ok(form, 'there is a form')
  const { status, html } = await browser.post(form?.path ?? '', {
    ...form?.fields,
    name: 'of the storefront',
    _form: 'of yesterday',
  })
  t.equal(status, 403)
  t.match(html, /older than your sign-in/)
  t.match(html, /value="of the storefront"/)
})

t.test('a form that is too large is refused by a page', async (t) => {
  const { status, html } = await browser.post('/settings/look', { title: 'x'.repeat(5 * 1024 * 1024) })
  t.equal(status, 413)
  t.match(html, /<h2>|<h1>/)
  t.match(html, /aria-label="Pages"/, 'with the rail')
})

t.test('no way out of this site by a form', async (t) => {
  const page = await browser.visit('/settings/look')
  for (const back of ['//evil.example', 'https://evil.example', '/\\evil.example', 'javascript:alert(1)']) {
    const { to } = await browser.submit(page, 'theme', { theme: 'system', back })
    t.equal(to, '/', back)
  }
})

t.test('another name of this machine leads to the one in base_url', async (t) => {
  const { port } = new URL(postern.url)
  const answer = await fetch(`http://localhost:${port}/emails?mode=test`, { redirect: 'manual' })
  t.equal(answer.status, 307)
  t.equal(answer.headers.get('location'), `${postern.url}/emails?mode=test`)
})

/** What a stream says until `wanted` stands in it, and how it ends. */
const listen = async (headers: Record<string, string>) => {
  const stop = new AbortController()
  const answer = await fetch(`${postern.url}/live`, { headers, signal: stop.signal })
  let text = ''
  let isOver = false
  const reading = (async () => {
    const decoder = new TextDecoder()
    const reader = answer.body?.getReader()
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {}
      if (done) return
      text += decoder.decode(value, { stream: true })
    }
  })()
  void reading
    .catch(() => undefined)
    .finally(() => {
      isOver = true
    })
  return {
    status: answer.status,
    headers: answer.headers,
    close: () => stop.abort(),
    until: (wanted: string) =>
      eventually(`the stream says ${wanted}`, async () => text.includes(wanted) && text),
    over: () => eventually('the stream is over', async () => isOver),
    mark: () => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '',
  }
}

t.test('the stream is for our own pages and for who is signed in', async (t) => {
  const cookie = `postern_session=${browser.cookie('postern_session')}`
  t.equal((await listen({})).status, 401)
  t.equal((await listen({ cookie, origin: 'https://evil.example' })).status, 403)
  t.equal((await listen({ cookie, 'sec-fetch-site': 'cross-site' })).status, 403)
})

t.test('the stream tells what happens, and goes on where it was', async (t) => {
  const cookie = `postern_session=${browser.cookie('postern_session')}`
  const first = await listen({ cookie })
  t.equal(first.status, 200)
  t.equal(first.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(first.headers.get('content-encoding'), null)
  const id = await send('seen live')
  await first.until(id)
  const mark = first.mark()
  first.close()
  const missed = await send('while nobody listened')
  const second = await listen({ cookie, 'last-event-id': mark })
  await second.until(missed)
  second.close()
})

t.test('who is signed out hears no more', async (t) => {
  const other = await signedIn(postern)
  const stream = await listen({ cookie: `postern_session=${other.cookie('postern_session')}` })
  await stream.until('id: ')
  const page = await other.visit('/emails')
  const { to } = await other.submit(page, 'sign-out')
  t.ok(to, 'signed out')
  await stream.over()
})
