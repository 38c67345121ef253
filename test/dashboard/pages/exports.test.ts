/** What pages show, saved as a file: what /v1 gives to whoever looks, little by little. */
import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { Browser, signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

t.setTimeout(120_000)
const postern = await new Postern({ submission: [], identity: { viewers_see: 'nothing' } }).start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)
const session = browser.cookie('postern_session') ?? ''
const key = await postern.key('--mode', 'test')

const SENT = 250
for (let i = 0; i < SENT; i++) {
  await postern.api('POST', '/v1/emails', key, {
    ...{
      from: 'a@acme.test',
      to: [`b${i}@example.com`],
      subject: i === 0 ? '=1+1' : `Number ${i}`,
      text: 'Hello',
    },
    tags: [{ name: 'kind', value: i % 2 === 0 ? 'even' : 'odd' }],
  })
}

const hrefs = (html: string, path: string): readonly string[] =>
  [...html.matchAll(/href="([^"]+)"/g)]
    .map(([, href = '']) => href.replaceAll('&amp;', '&'))
    .filter((href) => href.startsWith(path))
const rows = (text: string): readonly string[] => text.trim().split(/\r?\n/)

t.test('the mails of a page, with its filters, under a name that says the day', async (t) => {
  const page = await browser.visit('/emails?mode=test&tag=kind:odd')
  const [csv = '', ndjson = ''] = hrefs(page.html, '/emails/export')
  const file = await browser.request('GET', csv)
  t.equal(file.status, 200)
  t.match(file.headers.get('content-type'), /^text\/csv/)
  t.match(
    file.headers.get('content-disposition'),
    /^attachment; filename="postern-emails-\d{4}-\d\d-\d\d\.csv"$/,
  )
  t.equal(file.headers.get('x-content-type-options'), 'nosniff')
  t.equal(rows(file.html).length, 1 + SENT / 2)
  const lines = rows((await browser.request('GET', ndjson)).html).map((line) => JSON.parse(line))
  t.ok(lines.length === SENT / 2 && lines.every(({ tags }) => tags[0].value === 'odd'))
  t.equal((await browser.request('GET', '/emails/export?mode=test&q=before:never')).status, 422)
})

t.test('suppressions and statistics', async (t) => {
  const list = await browser.visit('/suppressions')
  await browser.send(list, 'add', { emails: '+plus@example.com', reason: '@risky' })
  const [csv = ''] = hrefs(list.html, '/suppressions/export')
  t.match(rows((await browser.request('GET', csv)).html)[1], `'+plus@example.com,manual,'@risky`)
  t.equal(rows((await browser.request('GET', `${csv}&origin=bounce`)).html).length, 1)
  const [figures = ''] = hrefs((await browser.visit('/?mode=test')).html, '/statistics/export')
  const file = await browser.request('GET', figures)
  t.match(file.headers.get('content-disposition'), 'postern-statistics-')
  t.ok(rows(file.html).length > 24)
})

t.test('a viewer gets what /v1 gives to viewers; a stranger is asked who it is', async (t) => {
  const made = await postern.api('POST', '/v1/users', session, { email: 'cleo@acme.test', role: 'viewer' })
  const page = await browser.visit(`/settings/people/${made.body.id}`)
  const [, link = ''] = /(\/setup\/[\w-]+)/.exec((await browser.submit(page, 'link')).html) ?? []
  const viewer = new Browser(postern.url)
  const [, _form = ''] = /name="_form" value="([^"]+)"/.exec((await viewer.visit(link)).html) ?? []
  await viewer.post(link, { _form })
  const token = viewer.cookie('postern_session') ?? ''
  t.match((await postern.api('GET', '/v1/session', token)).body, { role: 'viewer' })
  const forms = ['keys/new', 'pools/new', 'webhooks/new', 'workspaces/new', 'credentials/new', 'queue/order']
  for (const form of [...forms, 'settings/people', 'settings/audit']) {
    const shown = await viewer.request('GET', `/${form}`)
    t.match(shown, { status: 403, html: /Not for your role/ }, form)
    t.notMatch(shown.html, /name="_action" value="create"/)
  }
  const rail = await viewer.visit('/keys')
  t.equal(rail.status, 200)
  t.notMatch(rail.html, /href="\/settings\/(people|audit)"/)
  t.match((await browser.visit('/keys')).html, /href="\/settings\/people"[\s\S]*href="\/settings\/audit"/)
  t.equal(
    (await viewer.post('/keys/new', { _action: 'create', _form: '' })).status,
    403,
    'refused on sending',
  )
  t.equal((await viewer.request('GET', '/live')).status, 403, 'events tell subjects')
  t.notMatch((await viewer.visit('/')).html, /data-(live|refresh)/, 'and no page asks for them')
  t.equal((await postern.api('GET', '/v1/events/stream', token)).status, 403)
  const order = { action: 'cancel', q: 'subject:secret', reason: 'why' }
  const job = await postern.api('POST', '/v1/emails/bulk', session, order)
  t.equal((await postern.api('GET', `/v1/jobs/${job.body.id}`, session)).body.q, 'subject:secret')
  t.equal((await postern.api('GET', `/v1/jobs/${job.body.id}`, token)).body.q, null)
  t.notMatch((await viewer.visit(`/jobs/${job.body.id}`)).html, /secret/)
  const path = '/emails/export?mode=test&time=all&format=ndjson'
  const file = await viewer.request('GET', path)
  t.equal(file.html, (await postern.api('GET', '/v1/emails?mode=test&format=ndjson', token)).text)
  t.equal(JSON.parse(rows(file.html)[0] ?? '').subject, null)
  t.not(JSON.parse(rows((await browser.request('GET', path)).html)[0] ?? '').subject, null)
  t.match((await new Browser(postern.url).request('GET', path)).to, /^\/sign-in\?/)
  const mail = { from: 'a@acme.test', to: 'bounced-later@example.com', subject: 'x', text: 'y' }
  const { id } = (await postern.api('POST', '/v1/emails', key, mail)).body
  await postern.until(key, id, ['bounced'])
  const shown = (await browser.visit(`/emails/${id}?mode=test`)).html
  const [report = ''] = hrefs(shown, `/emails/${id}/events/`)
  t.match((await browser.request('GET', report)).html, 'Final-Recipient')
  t.equal((await viewer.request('GET', report)).status, 403)
  const forViewer = await viewer.visit(`/emails/${id}?mode=test`)
  t.match(forViewer.html.replace(/<[^>]+>/g, ''), 'bounced-later@example.com')
  t.same(hrefs(forViewer.html, `/emails/${id}/events/`), [], 'no link to what is refused')
})

t.test('who goes away ends it', async (t) => {
  const ask = request(`${postern.url}/emails/export?mode=test&time=all&format=ndjson`, {
    headers: { cookie: `postern_session=${session}` },
  })
  ask.end()
  const [answer] = await once(ask, 'response')
  await once(answer, 'data')
  t.equal(answer.headers['content-length'], undefined, 'it comes little by little')
  answer.destroy()
  await once(answer, 'close')
  t.equal((await browser.visit('/emails')).status, 200, 'and all is well')
})
