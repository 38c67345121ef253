/** The API reference and the errors, for people: everything is there, and what can be pasted runs. */
import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FAULTS } from '../../../src/base/fault.js'
import { DOC_PAGES } from '../../../src/dashboard/pages/all.js'
import { GUIDES } from '../../../src/dashboard/pages/docs/guides.js'
import { Browser, signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)
const stranger = new Browser(postern.url)
const session = browser.cookie('postern_session') ?? ''
const html = { headers: { accept: 'text/html' } }

interface Described {
  readonly operationId: string
  readonly 'x-cli': { readonly command?: string; readonly reason?: string }
}

const { body: document } = await postern.api('GET', '/v1/openapi.json', session)
const operations = Object.values(document.paths as Record<string, Record<string, Described>>).flatMap((one) =>
  Object.values(one),
)

t.test('each operation has its page, its samples and its command', async (t) => {
  const index = (await browser.visit('/docs')).html
  for (const { operationId: id, 'x-cli': twin } of operations) {
    t.match(index, `"/docs/${id}"`, id)
    const { status, html: page } = await browser.visit(`/docs/${id}`)
    t.equal(status, 200, id)
    t.ok(page.includes(`${postern.url}/`), `${id}: samples for this very gateway`)
    t.ok(page.includes(twin.command ?? 'Not on the command line'), `${id}: its command`)
    t.notMatch(page, /\bundefined\b|\[object Object\]/, id)
  }
  t.equal((await browser.visit('/docs/nothing')).status, 404)
})

t.test('without a session it is the same, and names nothing of this installation', async (t) => {
  for (const path of ['/docs', '/docs/sendEmail', ...DOC_PAGES.map((page) => page.path)]) {
    if (path.includes('{')) continue
    const { status, html: page, to } = await stranger.request('GET', path)
    t.equal(status, 200, `${path} ${to}`)
    t.notMatch(page, /\bundefined\b|\[object Object\]|postern_session/, path)
  }
  t.equal((await stranger.request('GET', '/docs/nothing')).status, 404)
  const { status, html: text } = await stranger.request('GET', '/docs/openapi.json')
  t.equal(status, 200)
  t.strictSame(JSON.parse(text), document)
  t.equal((await postern.api('GET', '/v1/openapi.json', null)).status, 401)
})

t.test('each guide has what can be pasted; receivers are there for eight frameworks', async (t) => {
  for (const { slug } of GUIDES) {
    const { status, html: page } = await stranger.request('GET', `/docs/guides/${slug}`)
    t.equal(status, 200, slug)
    if (slug !== 'retries') t.ok(page.includes(`${postern.url}/v1`), `${slug}: for this very gateway`)
    for (const [, path = ''] of page.matchAll(/href="(\/docs[^"#]*)"/g))
      t.equal((await stranger.request('GET', path)).status, 200, path)
  }
  const { html: page } = await stranger.request('GET', '/docs/guides/webhooks')
  for (const name of ['Express', 'Fastify', 'hapi', 'Flask', 'Django', 'Rails', 'PHP, Laravel', 'Go'])
    t.ok(page.includes(`<summary>${name}</summary>`), name)
})

t.test('docs: members', async (t) => {
  const closed = new Postern({ docs: 'members' })
  t.teardown(() => closed.remove())
  await closed.start()
  const outside = new Browser(closed.url)
  for (const path of ['/docs', '/docs/sendEmail', '/docs/guides/webhooks', '/docs/openapi.json'])
    t.match((await outside.request('GET', path)).to, /^\/sign-in\?return_to=/, path)
  const inside = await signedIn(closed)
  for (const path of ['/docs', '/docs/sendEmail', '/docs/guides/webhooks'])
    t.equal((await inside.visit(path)).status, 200, path)
  const own = await inside.visit('/docs/openapi.json')
  t.equal(JSON.parse(own.html).openapi, '3.1.0')
  t.equal((await outside.request('GET', '/errors', html)).status, 200, 'errors are for everybody')
})

t.test('words leave only what has them', async (t) => {
  const { html: page } = await browser.visit('/docs?q=reschedule')
  t.match(page, '/docs/rescheduleEmail')
  t.notMatch(page, '/docs/listWebhooks')
})

t.test('the document is the one that the API serves', async (t) => {
  const { html: text, headers } = await browser.visit('/docs/openapi.json')
  t.strictSame(JSON.parse(text), document)
  t.match(headers.get('content-disposition'), 'attachment')
})

t.test('the errors: JSON for programs, a page for people, the same address', async (t) => {
  for (const code of Object.keys(FAULTS) as (keyof typeof FAULTS)[]) {
    const { status, html: page } = await stranger.request('GET', `/errors/${code}`, html)
    t.equal(status, 200, code)
    t.ok(page.includes(FAULTS[code].smtp), `${code}: its twin over SMTP`)
    const { body } = await postern.api('GET', `/errors/${code}`, null)
    t.strictSame([body.code, body.remedy, body.smtp], [code, FAULTS[code].remedy, FAULTS[code].smtp])
  }
  const unknown = await stranger.request('GET', '/errors/nothing', html)
  t.equal(unknown.status, 404)
  t.match(unknown.html, 'No such error')
  const seen = await browser.request('GET', '/errors/email.not_found', html)
  t.match(seen.html, '/docs/getEmail', 'who has signed in sees which operations answer it')
  t.match(
    (await stranger.request('GET', '/errors', html)).headers.get('content-security-policy'),
    "script-src 'self'",
  )
})

const plain = (text: string): string =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (all, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name] ?? all,
  )

/** The samples of a page, by language. */
const samplesOn = (page: string): Map<string, string> =>
  new Map(
    [...page.matchAll(/<summary>(curl|Node|Python|PHP)<\/summary><pre[^>]*>([\s\S]*?)<\/pre>/g)].map(
      ([, language = '', text = '']) => [language, plain(text)],
    ),
  )

const RUNS: Readonly<Record<string, readonly [program: string, file: string]>> = {
  curl: ['sh', 'sample.sh'],
  Node: [process.execPath, 'sample.mjs'],
  Python: ['python3', 'sample.py'],
  PHP: ['php', 'sample.php'],
}

const ran = (program: string, file: string, key: string): Promise<string> =>
  new Promise((resolve) => {
    const env = { ...process.env, POSTERN_KEY: key }
    execFile(program, [file], { env }, (_error, stdout, stderr) => resolve(stdout || stderr))
  })

const has = (program: string): boolean =>
  program.startsWith('/') || (process.env.PATH ?? '').split(':').some((dir) => existsSync(join(dir, program)))

for (const [language, [program, file]] of Object.entries(RUNS)) {
  t.test(
    `the samples run as they are: ${language}`,
    { skip: has(program) ? false : `${program} is not installed` },
    async (t) => {
      const key = await postern.key('--mode', 'test')
      for (const [id, expected] of [
        ['sendEmail', /em_[0-9a-z]{26}/],
        ['listEmails', /pagination/],
      ] as const) {
        // each language sends a mail of its own
        const sample = samplesOn((await browser.visit(`/docs/${id}`)).html).get(language) ?? ''
        const path = join(postern.dir, file)
        writeFileSync(path, sample.replace('receipt-42', `receipt-${language}`))
        t.match(await ran(program, path, key), expected, id)
      }
    },
  )
}
