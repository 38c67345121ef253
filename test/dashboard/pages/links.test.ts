/** Where pages lead: somebody who only looks is led to no page that is not for his role. */
import t from 'tap'
import { PAGES } from '../../../src/dashboard/pages/all.js'
import { makeScenery } from '../../parts/scenery.js'

t.setTimeout(180_000)

/** Links that differ in ids and names alone lead to the same page. */
const alike = (href: string): string =>
  href
    .replace(/#.*/, '')
    .replace(/_[0-9a-z]{26}/g, '')
    .replace(/(workspace|cursor|q|domain|address|target|actor|prefix)=[^&]*/g, '$1')
    .replace(/\/(docs|errors)\/.*/, '/$1')

const { postern, session, mails } = await makeScenery()
t.teardown(() => postern.remove())

const thingsOf = async (): Promise<Readonly<Record<string, string>>> => {
  const first = async (path: string) => (await postern.api('GET', path, session)).body.data[0].id as string
  return {
    emails: mails.bounced ?? '',
    webhooks: await first('/v1/webhooks'),
    pools: await first('/v1/egress-pools'),
    workspaces: await first('/v1/workspaces'),
    domains: 'shop.example',
  }
}

t.test('a viewer', async (t) => {
  const things = await thingsOf()
  // the endpoint has something to show
  await postern.api('POST', `/v1/webhooks/${things.webhooks}/test`, session, {})
  const { token } = await postern.json('session', 'create', '--role', 'viewer')
  const headers = { cookie: `postern_session=${token}` }
  const links = new Map<string, string>()
  let looked = 0
  for (const { path } of PAGES) {
    const at = path.replace(/\{\w+\}/, things[path.split('/')[1] ?? ''] ?? '')
    if (at.includes('{')) continue
    const answer = await fetch(postern.url + at, { headers })
    const html = await answer.text()
    if (answer.status !== 200) continue
    looked++
    for (const [, href = ''] of html.matchAll(/<a [^>]*href="(\/[^"]*)"/g)) {
      const to = href.replaceAll('&amp;', '&')
      if (!links.has(alike(to))) links.set(alike(to), to)
    }
  }
  t.ok(looked > 15, `${looked} pages are for a viewer`)
  t.ok(
    [...links.keys()].some((one) => one.startsWith('/webhooks/wh')),
    'one of an endpoint among them',
  )
  const refused: string[] = []
  for (const href of links.values()) {
    const answer = await fetch(postern.url + href, { headers, redirect: 'manual' })
    await answer.body?.cancel()
    if (answer.status === 403) refused.push(href)
  }
  t.strictSame(refused, [], `of ${links.size} ways`)
})
