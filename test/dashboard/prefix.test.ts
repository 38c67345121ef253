/** The dashboard below a path of base_url, behind a proxy that takes the path away, and behind one that hands it on. */
import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { Browser } from '../parts/browser.js'
import { Postern } from '../parts/postern.js'

const PREFIX = '/mail'

for (const [name, pathOf] of [
  ['taken away', (url: string) => url.slice(PREFIX.length) || '/'],
  ['handed on', (url: string) => url],
] as const) {
  t.test(`a path in base_url, ${name} by the proxy`, async (t) => {
    let target = 0
    const pass: RequestListener = (req, res) => {
      if (!req.url?.startsWith(PREFIX)) {
        res.writeHead(404).end()
        return
      }
      const { method, headers } = req
      const inner = request({ port: target, method, headers, path: pathOf(req.url) }, (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      })
      inner.on('error', () => res.destroy())
      res.on('close', () => inner.destroy())
      req.pipe(inner)
    }
    const proxy = createServer(pass)
    await new Promise<void>((resolve) => {
      proxy.listen(0, '127.0.0.1', resolve)
    })
    const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const postern = await new Postern({ base_url: base + PREFIX }).start()
    t.teardown(async () => {
      await postern.remove()
      proxy.closeAllConnections()
      proxy.close()
    })
    target = postern.ports.http
    const browser = new Browser(base)
    const stranger = await browser.request('GET', `${PREFIX}/emails`)
    t.match(stranger.to, `${PREFIX}/sign-in?return_to=`)

    const { token } = await postern.json('session', 'create')
    browser.setCookie('postern_session', token)
    const page = await browser.visit(`${PREFIX}/emails`)
    t.equal(page.status, 200)
    const own = [...page.html.matchAll(/ (?:href|src|action|data-path)="(\/[^"]*)"/g)].map(([, path]) => path)
    t.ok(own.length > 20)
    t.same(
      own.filter((path) => !path?.startsWith(`${PREFIX}/`)),
      [],
      'every link has the path',
    )
    const script = own.find((path) => path?.endsWith('/main.js')) ?? ''
    t.equal((await browser.request('GET', script)).status, 200)
    const done = await browser.submit(page, 'theme', { theme: 'dark' })
    t.match(done.to, `${PREFIX}/emails`, 'an action comes back to where it was')
    t.notMatch(done.to, `${PREFIX}${PREFIX}`)
    const stop = new AbortController()
    const live = await fetch(`${base}${PREFIX}/live`, {
      headers: { cookie: `postern_session=${token}` },
      signal: stop.signal,
    })
    t.equal(live.status, 200)
    stop.abort()
  })
}
