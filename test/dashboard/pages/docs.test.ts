/** Guides, the API reference and the errors, for people and as text: everything is there, and what can be pasted runs. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FAULTS } from '../../../src/base/fault.js'
import { DOC_PAGES, DOC_TEXTS } from '../../../src/dashboard/pages/all.js'
import { paperFiles } from '../../../src/dashboard/pages/docs/paper-files.js'
import { type Paper, PaperBody, papers } from '../../../src/dashboard/pages/docs/papers.js'
import { renderPage } from '../../../src/dashboard/render.js'
import { Browser, signedIn } from '../../parts/browser.js'
import { Postern, ROOT } from '../../parts/postern.js'

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

const unescaped = (text: string): string =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (all, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name] ?? all,
  )
const GUIDES = papers()
/** The words of a text, without the marks of Markdown. */
const wordsOf = (text: string): readonly string[] => text.match(/[\p{L}\p{N}]{3,}/gu) ?? []

t.test('the guides are the papers of the repository, whole', async (t) => {
  t.ok(GUIDES.length >= 7)
  t.ok(
    GUIDES.some(({ slug }) => slug === 'moving'),
    'moving in is at /docs/moving',
  )
  for (const [file, text] of paperFiles(ROOT)) {
    const paper = GUIDES.find((one) => one.file === file)
    if (!t.ok(paper, file) || paper === undefined) continue
    const { status, html: page } = await stranger.request('GET', `/docs/${paper.slug}`)
    t.equal(status, 200, file)
    const shown = new Set(wordsOf(unescaped(page)))
    // but for the marks of fences, where links lead, and what is made this gateway's own
    const read = text.replace(/^```\w+$|\]\([^)]*\)|\b127\.0\.0\.1:8080\b|\d+\.\d+\.\d+/gm, ' ')
    t.strictSame(
      [...new Set(wordsOf(read))].filter((one) => !shown.has(one)),
      [],
      `${file}: no word is lost`,
    )
    for (const { anchor, title } of paper.chapters.slice(1))
      t.ok(page.includes(` id="${anchor}"`), `${file}: ${title}`)
    t.equal(
      new Set(paper.chapters.map(({ anchor }) => anchor)).size,
      paper.chapters.length,
      `${file}: no two alike`,
    )
    t.notMatch(page, '>Actions<', `${file}: each column of a table has a name`)
  }
  t.equal((await stranger.request('GET', '/docs/nothing')).status, 404)
  t.equal((await stranger.request('GET', '/docs/nothing.md')).status, 404)
})

t.test('a paper is text: nothing in it becomes an element or a script', async (t) => {
  const text =
    '# A\n\n<script>alert(1)</script>\n\nb <img src=x> [c](javascript:alert(1)) ![d](http://x.example/d.png)\n'
  const paper: Paper = { file: 'config/A.md', slug: 'a', title: 'A', says: '', text, chapters: [] }
  const page = renderPage(PaperBody({ paper, reader: { link: (path) => path }, baseUrl: '' }), '')
  t.notMatch(page, /<script|<img|href="javascript/)
  t.match(page, '&lt;script>')
})

t.test('links lead on, as pages and as Markdown, and samples are for this very gateway', async (t) => {
  const seen = new Map<string, string>()
  const follow = async (path: string, from: string): Promise<void> => {
    const [bare = '', anchor] = path.split('#')
    if (!seen.has(bare)) {
      const { status, html: page } = await stranger.request('GET', bare)
      t.equal(status, 200, `${from} leads to ${bare}`)
      seen.set(bare, page)
    }
    if (anchor !== undefined && !bare.endsWith('.md'))
      t.ok(seen.get(bare)?.includes(` id="${anchor}"`), `${from} leads to ${path}`)
  }
  for (const { slug } of GUIDES) {
    const path = `/docs/${slug}`
    const { html: page } = await stranger.request('GET', path)
    for (const [, to = ''] of page.matchAll(/href="(\/(?:docs|errors|llms)[^"]*)"/g)) await follow(to, path)
    const { html: text, headers } = await stranger.request('GET', `${path}.md`)
    t.equal(headers.get('content-type'), 'text/markdown; charset=utf-8')
    for (const [, to = ''] of text.matchAll(/\]\((?!https?:)([^)]*)\)/g))
      await follow(new URL(to, `${postern.url}${path}.md`).pathname, `${path}.md`)
    t.notMatch(text + page, '127.0.0.1:8080/v1', slug)
  }
  t.match((await stranger.request('GET', '/docs/clients')).html, `${postern.url}/v1/emails`)
})

t.test('llms.txt lists every page as Markdown', async (t) => {
  const { html: text, headers } = await stranger.request('GET', '/llms.txt')
  t.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  t.equal((await stranger.request('GET', '/docs/llms.txt')).html, text)
  t.equal((await stranger.request('GET', '/docs.md')).html, text)
  t.match(text, /^# .*\n\n> /)
  for (const { slug } of GUIDES) {
    t.match(slug, /^[a-z-]+$/)
    t.match(text, `(${postern.url}/docs/${slug}.md)`)
  }
  for (const { operationId: id } of operations) {
    t.match(id, /[A-Z]/, `${id}: no guide can be called so`)
    t.match(text, `(${postern.url}/docs/${id}.md)`)
    const { status, html: page } = await stranger.request('GET', `/docs/${id}.md`)
    t.equal(status, 200, id)
    t.match(page, /^# .*\n\n`[A-Z]+ \//, id)
    t.notMatch(page, /\bundefined\b|\[object Object\]/, id)
  }
  t.equal((await stranger.request('GET', '/docs/nothing.md')).status, 404)
})

t.test('no open page names a version', async (t) => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const guides = GUIDES.flatMap(({ slug }) => [`/docs/${slug}`, `/docs/${slug}.md`])
  // that of a standard may be the same, and a part of an address
  const ours = new RegExp(`(?<!Standard Webhooks |[\\d.])${version.replaceAll('.', '\\.')}(?![\\d.]*\\d)`)
  for (const path of ['/docs', '/llms.txt', '/docs/sendEmail', '/docs/sendEmail.md', ...guides])
    t.notMatch((await stranger.request('GET', path)).html, ours, path)
})

t.test('words find chapters of the guides', async (t) => {
  const { html: page } = await stranger.request('GET', '/docs?q=restore+backup')
  t.match(page, '/docs/operate#backup-and-restore')
  t.notMatch(page, '/docs/sendEmail"')
})

t.test('docs: members', async (t) => {
  const closed = new Postern({ docs: 'members' })
  t.teardown(() => closed.remove())
  await closed.start()
  const outside = new Browser(closed.url)
  for (const path of [
    '/docs',
    '/docs/sendEmail',
    '/docs/clients',
    '/docs/openapi.json',
    ...DOC_TEXTS.map((one) => one.path),
  ])
    t.match((await outside.request('GET', path)).to, /^\/sign-in\?return_to=/, path)
  const inside = await signedIn(closed)
  for (const path of ['/docs', '/docs/sendEmail', '/docs/clients', '/docs/clients.md', '/llms.txt'])
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

/** The samples of a page, by language. */
const samplesOn = (page: string): Map<string, string> =>
  new Map(
    [...page.matchAll(/<summary>(curl|Node|Python|PHP)<\/summary><pre[^>]*>([\s\S]*?)<\/pre>/g)].map(
      ([, language = '', text = '']) => [language, unescaped(text)],
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
