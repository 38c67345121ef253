/**
 * The pages of the dashboard as they are written down: for each, who may see it, its headings, the heads of its tables and
 * facts, and its forms with the fields, labels, limits and buttons; and what each form answers to whom may not send it.
 */
import t from 'tap'
import type { Role } from '../../src/config/identity.js'
import { PAGES } from '../../src/dashboard/pages/all.js'
import { createPerson, newSession } from '../../src/tenant/people.js'
import { openSite } from '../dashboard/sign-in/site.js'
import { Browser } from '../parts/browser.js'
import { demandPaper, named } from './paper.js'

t.setTimeout(300_000)

const site = await openSite({ office: null })
t.teardown(() => site.stop())

const signedIn = async (role: Role) => {
  const user = await createPerson(site.deps, site.accountId, { email: `${role}@acme.test`, role })
  const { row, token } = newSession(site.deps, site.accountId, { userId: user.id, provider: 'local' })
  await site.store.createSession(row)
  const browser = new Browser(site.url)
  browser.setCookie('postern_session', token)
  return { browser, token, user }
}
const owner = await signedIn('owner')
const others = { member: await signedIn('member'), viewer: await signedIn('viewer') }
const nobody = new Browser(site.url)

const api = async (method: string, path: string, body?: unknown) => {
  const headers = {
    authorization: `Bearer ${owner.token}`,
    'x-workspace-id': 'default',
    'content-type': 'application/json',
  }
  const answer = await fetch(site.url + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${await answer.text()}`)
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
  return (await answer.json()) as any
}
const idOf = async (path: string, body: unknown): Promise<string> => (await api('POST', path, body)).id

const mail = {
  from: 'a@shop.example',
  to: 'b@example.com',
  subject: 'Hi',
  text: 'Hello',
  scheduled_at: 'in 2 days',
}
const email = await idOf('/v1/emails', mail)
const hold = await idOf('/v1/holds', { scope: { domain: 'held.example' }, reason: 'x' })
await idOf('/v1/suppressions', { email: 'gone@example.com' })
await idOf('/v1/api-keys', { name: 'ci' })
const workspace = await idOf('/v1/workspaces', { name: 'Shop' })
await idOf('/v1/credentials', {
  workspace_id: workspace,
  username: 'printer',
  password: 'a long and random text',
})
await idOf('/v1/domains', { name: 'shop.example' })

/** What stands for the parameter of a page, by where the page begins. */
const THINGS: Readonly<Record<string, string>> = {
  ...{ emails: email, workspaces: workspace, settings: owner.user.id, domains: 'shop.example' },
  pools: await idOf('/v1/egress-pools', { name: 'eu', members: [{ host: 'mta.acme.test', tls: 'none' }] }),
  webhooks: await idOf('/v1/webhooks', { endpoint: 'https://hooks.acme.test/x', events: ['*'] }),
  jobs: await idOf('/v1/emails/bulk', { action: 'cancel', q: 'subject:nothing', reason: 'x' }),
}
const { prefix } = (await api('GET', '/v1/api-keys')).data[0]
const event = (await api('GET', '/v1/events')).data[0].id as string

const addressOf = (path: string): string => {
  if (path === '/queue/release') return `${path}?hold=${hold}`
  if (path === '/queue/order') return `${path}?verb=purge&all=true`
  return path.replace('{event}', event).replace(/\{\w+\}/, THINGS[path.split('/')[1] ?? ''] ?? '')
}

const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

const insides = (html: string, tag: string): readonly string[] =>
  [...html.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))].map(([, inner = '']) =>
    textOf(inner),
  )

/** What of a field's tag says something; values that differ are left out. */
const fieldOf = (tag: string): string =>
  tag
    .replace(/ (?:id|class|for|aria-describedby|autocomplete|value)="[^"]*"/g, (one) =>
      / name="(?:_form|_workspace|version)"/.test(tag) || / (?:id|class|for|aria)/.test(one) ? '' : one,
    )
    .replace(/^<|\/?>$/g, '')

/** A form: its action, then fields, labels, options and buttons in their order. */
const formLines = (html: string): readonly string[] =>
  [...html.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/g)].flatMap(([form]) => {
    const action = /name="_action" value="([^"]*)"/.exec(form)?.[1] ?? 'GET'
    const parts = [
      ...form.matchAll(
        /<(?:input|textarea|select|option)\b[^>]*>|<(label|legend|button|summary|small)\b[^>]*>[\s\S]*?<\/\1>/g,
      ),
    ].map(([part]) => {
      if (/^<(?:label|legend|button|summary|small)/.test(part)) {
        const inner = [...part.matchAll(/<(?:input|textarea|select)\b[^>]*>/g)].map(
          ([tag]) => ` [${fieldOf(tag)}]`,
        )
        return `${/^<(\w+)/.exec(part)?.[1]}: ${textOf(part)}${inner.join('')}`
      }
      return fieldOf(part)
    })
    const own = parts.filter((part) => !/name="(?:_form|_action)"/.test(part))
    return [`  form ${action}`, ...own.map((part) => `    ${part}`)]
  })

const mainOf = (html: string): string => /<main\b[\s\S]*<\/main>/.exec(html)?.[0] ?? html

const linesOf = (html: string): readonly string[] => {
  const main = mainOf(html)
    .replace(/<svg\b[\s\S]*?<\/svg>/g, '')
    .replace(/<time\b[\s\S]*?<\/time>/g, '<time>')
  const heads = ['h1', 'h2', 'th', 'dt'].flatMap((tag) => {
    const found = insides(main, tag)
    return found.length === 0 ? [] : [`  ${tag}: ${found.join(' | ')}`]
  })
  return [...heads, ...formLines(main)]
}

t.test('every page', async (t) => {
  const lines: string[] = []
  const tokenOf = async (browser: Browser) =>
    /name="_form" value="([^"]+)"/.exec((await browser.visit('/settings/you')).html)?.[1] ?? ''
  const tokens = {
    member: await tokenOf(others.member.browser),
    viewer: await tokenOf(others.viewer.browser),
  }
  for (const { path, actions = {} } of PAGES) {
    const at = addressOf(path)
    const seen = await owner.browser.request('GET', at)
    const who = [`owner ${seen.status}`]
    for (const [role, { browser }] of Object.entries(others))
      who.push(`${role} ${(await browser.request('GET', at)).status}`)
    const away = await nobody.request('GET', at)
    lines.push(named(`${path}: ${who.join(', ')}, nobody ${away.status} ${away.to?.split('?')[0] ?? ''}`))
    if (seen.status === 200) lines.push(...linesOf(seen.html).map(named))
    // what can be done to a key stands where one is shown
    if (path === '/keys') {
      const { html } = await owner.browser.request('GET', `${path}?prefix=${prefix}`)
      lines.push('/keys?prefix=...', ...linesOf(html).map(named))
    }
    for (const [action, { does: operation }] of Object.entries(actions)) {
      const { status, to } = await others.viewer.browser.post(at, { _form: tokens.viewer, _action: action })
      lines.push(named(`  ${action} does ${operation}; viewer ${status} ${to ?? ''}`.trimEnd()))
    }
  }
  demandPaper(t, 'pages', lines)
})
