/** What is left of the HTML of a mail, looked at as text; a browser's opinion is in pages/hostile.test.ts. */
import t from 'tap'
import { type CleanOptions, cleanHtml } from '../../../src/dashboard/mail/content.js'
import { hostile } from '../../fixtures/hostile.js'

const OPTIONS: CleanOptions = { images: false, picture: () => null, never: [] }
const clean = async (html: string, more: Partial<CleanOptions> = {}) =>
  (await cleanHtml(html, { ...OPTIONS, ...more })).html

const ACTS =
  /<(?:script|meta|base|link|form|input|button|iframe|object|embed|svg|math|video|audio|template|noscript|title)\b|\son\w+=|\b(?:ping|srcset|srcdoc|action|formaction)=/i

t.test('nothing that acts is left of anything hostile, alone or together', async (t) => {
  const all = hostile('canary.test')
  for (const one of [...all, all.join('\n')]) {
    const left = await clean(one)
    const tags = left.replace(/<style>[\s\S]*?<\/style>/g, '').match(/<[^>]*>/g) ?? []
    const named = tags.map((tag) => tag.replace(/="[^"]*"/g, '=""'))
    t.notMatch(named.join(''), ACTS, one.slice(0, 60))
    t.notMatch(tags.join(''), /(?:src|background)="[^"]*canary/i, `${one.slice(0, 60)}: no address to fetch`)
  }
})

t.test('elements deep in one another are read in time, and go on in their parent', async (t) => {
  const left = await clean(
    `${'<table><tr><td>'.repeat(60_000)}in<svg><p>no</svg>${'</td></tr></table>'.repeat(60_000)}out`,
  )
  t.equal(left.match(/<td>/g)?.length, left.match(/<\/td>/g)?.length)
  t.match(left, /in.*out$/)
  let deepest = 0
  let depth = 0
  for (const [, slash] of left.matchAll(/<(\/?)\w+>/g)) {
    depth += slash === '/' ? -1 : 1
    deepest = Math.max(deepest, depth)
  }
  t.ok(deepest <= 514, `${deepest} deep`)
  t.equal(depth, 0)
})

t.test('what only shows stays', async (t) => {
  const mail =
    '<h1 align="center">Hi</h1><table width=600 bgcolor="#eee"><tr><td style="color:red" class="a">x &amp; y</td></tr></table>'
  t.equal(
    await clean(mail),
    '<h1 align="center">Hi</h1><table width="600" bgcolor="#eee"><tr><td style="color:red" class="a">x &amp; y</td></tr></table>',
  )
  t.equal(await clean('<style>a>b{c:d}</style>'), '<style>a>b{c:d}</style>')
})

t.test('links lead nowhere and say where they would', async (t) => {
  t.equal(
    await clean('<a href="https://x.test/?a=1">go</a>'),
    '<a href="#" title="https://x.test/?a=1">go</a>',
  )
  t.equal(await clean('<a href="#top">up</a>'), '<a href="#top">up</a>')
})

t.test('pictures: of the mail, remote only when asked for, never from our own host', async (t) => {
  const picture = (id: string) => (id === 'logo@x' ? 'data:image/png;base64,AA==' : null)
  t.equal(await clean('<img src="cid:logo%40x">', { picture }), '<img src="data:image/png;base64,AA==">')
  const remote = '<img src="https://img.test/a.png" alt="A"><img src="http://gw.test/v1/x">'
  t.equal(await clean(remote), '<img alt="A"><img>')
  t.equal(
    await clean(remote, { images: true, never: ['gw.test'] }),
    '<img src="https://img.test/a.png" alt="A"><img>',
  )
  t.equal((await cleanHtml(remote, OPTIONS)).remote, 2)
})

t.test('a large one leaves turns for others', async (t) => {
  const html = '<tr><td style="a:b"><a href="https://x.test/">y</a></td></tr>\n'.repeat(16_000)
  let turns = 0
  const ticking = setInterval(() => turns++, 1)
  const left = await clean(html)
  clearInterval(ticking)
  t.ok(left.length > html.length / 2)
  t.ok(turns > 3, `${turns} turns`)
})
