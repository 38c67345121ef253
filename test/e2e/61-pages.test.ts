/**
 * Every page of the dashboard, in a real browser, with real things to show: nothing for axe to mend in light or dark,
 * wide or narrow; nothing that runs out of the window; nothing that breaks the policy, or asks another host.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t from 'tap'
import { DOC_PAGES, OPEN_PAGES, PAGES } from '../../src/dashboard/pages/all.js'
import { noChromium, openChromium, openWindow, type Watched } from '../parts/chromium.js'
import { makeScenery, type Scenery } from '../parts/scenery.js'

/** What stands for the parameter of a page, by where the page begins. Each new kind of thing needs its line here. */
const THINGS: Readonly<Record<string, (scenery: Scenery) => Promise<readonly string[]>>> = {
  docs: async () => ['sendEmail', 'listEmails'],
  errors: async () => ['validation.request_invalid'],
  emails: async ({ mails }) => Object.values(mails),
  webhooks: (scenery) => firstOf(scenery, '/v1/webhooks'),
  pools: (scenery) => firstOf(scenery, '/v1/egress-pools'),
  workspaces: (scenery) => firstOf(scenery, '/v1/workspaces'),
  domains: async () => ['shop.example'],
  jobs: (scenery) => firstOf(scenery, '/v1/jobs'),
  settings: (scenery) => firstOf(scenery, '/v1/users'),
}

const firstOf = async ({ postern, session }: Scenery, path: string): Promise<readonly string[]> => {
  const { body } = await postern.api('GET', path, session)
  return [body.data[0].id]
}

/** Of a bounce that came as a report, and of the refusal of one. */
const reportsIn = async ({ postern, session, mails }: Scenery): Promise<readonly string[]> => {
  const found: string[] = []
  for (const id of Object.values(mails)) {
    const { body } = await postern.api('GET', `/v1/emails/${id}/events`, session)
    for (const { id: event, detail } of body.data)
      if (typeof detail?.report === 'string') found.push(`/emails/${id}/events/${event}`)
  }
  return found.slice(0, 3)
}

const shownAt = async (path: string, scenery: Scenery): Promise<readonly string[]> => {
  if (path === '/queue/release') {
    return (await firstOf(scenery, '/v1/holds')).map((id) => `${path}?hold=${id}`)
  }
  if (path.includes('{event}')) return reportsIn(scenery)
  if (path === '/keys') {
    const { body } = await scenery.postern.api('GET', '/v1/api-keys', scenery.session)
    return [path, `${path}?prefix=${body.data[0].prefix}`]
  }
  if (path in ALSO || !path.includes('{')) return ALSO[path] ?? [path]
  const things = (await THINGS[path.split('/')[1] ?? '']?.(scenery)) ?? []
  return things.map((one) => path.replace(/\{\w+\}/, one))
}

/** What a page is reached with, where its bare path shows little. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  '/': ['/', '/?mode=test'],
  '/emails': ['/emails', '/emails?mode=test', '/emails?q=nobody%40nowhere.example'],
  '/queue/order': ['/queue/order?verb=purge&all=true'],
  '/docs': ['/docs', '/docs?q=nothing-has-this', '/docs?q=backup'],
  '/docs/{name}': [
    'sendEmail',
    'clients',
    'receivers',
    'settings',
    'operate',
    'postgres',
    'control-headers',
    'log',
  ].map((name) => `/docs/${name}`),
}

/** What a mail is looked at by; the mail that bounced stands for all. */
const TABS = ['preview', 'text', 'headers', 'source', 'attachments', 'events', 'checks']

/** Pages that say that there is none. */
const MISSING = [
  '/nowhere',
  '/emails/em_01k9f3m2zq8v6t4r2p0nxcwbha',
  '/docs/nothing',
  '/errors/nothing',
  '/queue/release?hold=x',
]
/** What is seen without a session. */
const OUTSIDE = [
  ...['/errors', '/errors/email.not_found', '/docs', '/docs/sendEmail', '/docs/clients'],
  ...['/sign-in', '/setup/nothing', '/invitation/nothing'],
]

const WIDTHS = [360, 390, 720, 1024, 1280, 1440, 2560]
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** In the dark only the colours are others. */
const COLOURS = ['color-contrast', 'link-in-text-block']

const violations = (page: Page, rules: readonly string[] | null): Promise<readonly string[]> =>
  page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as {
      axe: { run(root: Document, options: object): Promise<{ violations: Violation[] }> }
    }
    const { violations: found } = await axe.run(document, {
      resultTypes: ['violations'],
      ...(only && { runOnly: { type: 'rule', values: only } }),
    })
    return found.flatMap(({ id, nodes }) =>
      nodes
        .slice(0, 3)
        .map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
    )
  }, rules)

/** What runs out of the window, the page's own words first; null where nothing does. */
const widest = (page: Page): Promise<string | null> =>
  page.evaluate(() => {
    // a width of a fraction of a pixel is rounded up
    const content = document.scrollingElement?.scrollWidth ?? 0
    if (content <= innerWidth + 1) return null
    const scrolls = (one: Element | null): boolean =>
      one !== null && (getComputedStyle(one).overflowX !== 'visible' || scrolls(one.parentElement))
    const out = [...document.querySelectorAll('main *, header *')].filter(
      (one) => one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one.parentElement),
    )
    const named = out.map((one) => `${one.tagName}.${one.className} ${one.textContent?.slice(0, 40)}`)
    return `${content} wide: ${named.slice(-3).join('; ')}`
  })

/** Words of letters and digits that are broken within, short enough for any column. */
const broken = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const walker = document.createTreeWalker(
      document.querySelector('main') as HTMLElement,
      NodeFilter.SHOW_TEXT,
    )
    const range = document.createRange()
    const found: string[] = []
    while (walker.nextNode()) {
      const node = walker.currentNode as Text
      if (!/[\p{L}\d]{4}/u.test(node.data) || !node.parentElement?.checkVisibility()) continue
      if (node.parentElement.closest('pre, .pre, .hid, .code')) continue
      for (const { 0: word, index } of node.data.matchAll(/(?<![\p{L}\d_])[\p{L}\d]{4,20}(?![\p{L}\d_])/gu)) {
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        const tops = [...range.getClientRects()].filter(({ width }) => width > 1).map(({ top }) => top)
        if (Math.max(...tops) - Math.min(...tops) > 6) found.push(`${word} of ${node.data.slice(0, 60)}`)
      }
    }
    return found
  })

const look = async (
  { page, troubles }: Watched,
  path: string,
  wanted: readonly number[] = [200],
): Promise<readonly string[]> => {
  const wrong: string[] = []
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  const answer = await page.goto(path)
  if (!wanted.includes(answer?.status() ?? 0)) wrong.push(`answers ${answer?.status()}`)
  if (new URL(page.url()).pathname !== path.split('?')[0]) wrong.push(`leads to ${page.url()}`)
  await page.evaluate(AXE)
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    const wide = await widest(page)
    if (wide !== null) wrong.push(`${width}: ${wide}`)
    // code and fields of mail have no better place to break
    const within = /^\/(docs|errors)|tab=headers/.test(path) ? [] : await broken(page)
    wrong.push(...within.map((one) => `${width}: breaks within ${one}`))
    if (width !== 390 && width !== 1280) continue
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const found = await violations(page, colorScheme === 'light' ? null : COLOURS)
      wrong.push(...found.map((one) => `${width} ${colorScheme}: ${one}`))
    }
    await page.emulateMedia({ colorScheme: 'light' })
  }
  return [...wrong, ...troubles()]
}

/** Where the switch of workspaces leads from a page. */
const switched = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLAnchorElement>('.bar .switch:not(.who) .menu a')].map(
      ({ href }) => href,
    ),
  )

/** What is wrong with how the list of mails divides its room: nothing is wider than the subject, on a phone nothing stands alone. */
const listFaults = async (page: Page): Promise<readonly string[]> => {
  const wrong: string[] = []
  await page.goto('/emails?mode=test')
  for (const width of [390, 720, 1024, 1120, 1280, 1440, 1920, 2560]) {
    await page.setViewportSize({ width, height: 900 })
    const at = await page.evaluate(() => {
      const row = document.querySelector('#mails tbody tr') as HTMLTableRowElement
      const cells = [...row.cells].map((cell) => [cell.className, cell.getBoundingClientRect()] as const)
      const of = (name: string) => cells.find(([one]) => one === name)?.[1] as DOMRect
      const wider = cells.filter(([name, { width }]) => name !== 'c-subj' && width > of('c-subj').width)
      return {
        wider: wider.map(([name]) => name),
        isTickAlone: of('tick').top >= of('c-st').bottom,
        above:
          row.getBoundingClientRect().top -
          (document.querySelector('main')?.getBoundingClientRect().top ?? 0),
      }
    })
    if (at.wider.length > 0) wrong.push(`${width}: ${at.wider} is wider than the subject`)
    if (at.isTickAlone) wrong.push(`${width}: the tick box has a line of its own`)
    if (width === 390 && at.above > 170) wrong.push(`${width}: ${at.above} px before the first mail`)
  }
  return wrong
}

t.setTimeout(300_000)

t.test('every page', { skip: noChromium }, async (t) => {
  const scenery = await makeScenery()
  t.teardown(() => scenery.postern.remove())
  const browser = await openChromium()
  t.teardown(() => browser.close())
  const paths: string[] = []
  for (const { path } of [...PAGES, ...OPEN_PAGES, ...DOC_PAGES]) {
    const shown = await shownAt(path, scenery)
    t.ok(shown.length > 0, `${path} has something to show in this test`)
    paths.push(...shown)
  }
  paths.push(...TABS.map((tab) => `/emails/${scenery.mails.bounced}?tab=${tab}`))
  const next = async (): Promise<void> => {
    const window = await openWindow(browser, scenery.postern.url, scenery.session)
    for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
      t.strictSame(await look(window, path, MISSING.includes(path) ? [404] : [200]), [], path)
    }
    await window.context.close()
  }
  paths.push(...MISSING)
  const things: string[] = []
  for (const { path } of PAGES) if (/[{]|release/.test(path)) things.push(...(await shownAt(path, scenery)))
  await Promise.all([next(), next()])
  const { page, context } = await openWindow(browser, scenery.postern.url, scenery.session)
  for (const path of new Set(things)) {
    await page.goto(path)
    const ways = await switched(page)
    t.ok(ways.length > 2, `${path} has workspaces to choose from`)
    for (const way of ways) t.equal((await context.request.get(way)).status(), 200, `${path} to ${way}`)
  }
  t.strictSame(await listFaults(page), [], 'the list of mails')
  const stranger = await openWindow(browser, scenery.postern.url, null)
  for (const path of OUTSIDE) t.strictSame(await look(stranger, path, [200, 404, 410]), [], path)
})
