/**
 * NAME      layout - what stands around every page
 *   The document, the bar on top (workspace, mode, search, person), the rail of pages with the views that a person has
 *   pinned, and the plain frame of pages without a session. Nothing here needs a script.
 */
import type { ComponentChildren } from 'preact'
import type { Operation } from '../tenant/rights.js'
import type { Assets } from './assets/assets.js'
import { pinPath, ThemeForm } from './pages/look.js'
import { FormMarks, Hidden, Submit } from './parts/form.js'
import { Icon, Sprite } from './parts/status.js'
import { figure } from './parts/text.js'
import { attrs, fixed, html } from './render.js'
import type { PageOfWorkspaces, Summary, Theme, Visit } from './visit.js'

/** A link beside every page; `opens` is what somebody must be allowed to do to be shown it, unsaid anybody is. */
interface RailLink {
  readonly path: string
  readonly text: string
  readonly opens?: Operation | undefined
}
export type Rail = readonly (readonly [head: string, links: readonly RailLink[]])[]

const figureOf = (path: string, visit: Visit, summary: Summary): string | null => {
  const { short, down } = summary[visit.scope.mode]
  const some = (n: number, words: string) => (n === 0 ? null : `${figure(n)} ${words}`)
  if (path === '/queue') return short
  if (path === '/pools') return some(down, 'down')
  return path === '/webhooks' ? some(summary.webhooks_failing, 'failing') : null
}

const Figure = (path: string, visit: Visit, summary: Summary | null) => {
  const words = summary === null ? null : figureOf(path, visit, summary)
  if (words === null) return null
  const isQuiet = path === '/queue' && summary?.[visit.scope.mode].tone === 'ok'
  return html`<span class="${isQuiet ? 'n' : 'n warn'}">${words}</span>`
}

const isUnder = (path: string, link: string): boolean =>
  link === '/' ? path === '/' : path === link || path.startsWith(`${link}/`)

const current = (isHere: boolean, as: string) => attrs({ 'aria-current': isHere ? as : null })

const Pin = (here: string) =>
  html`<details class="fold pin"><summary>Pin this view</summary><form method="post" action="/settings/look" class="form">${FormMarks({ action: 'pin' })}${Hidden({ of: { back: here } })}<label for="pin-title">Name<input id="pin-title" name="title" maxlength="60" required autocomplete="off"/></label>${Submit({ children: 'Pin' })}</form></details>`

const Views = (visit: Visit) => {
  const { person } = visit.who
  if (person === null) return null
  const views = person.views ?? []
  const here = pinPath(visit)
  const items = views.map(
    ({ title, path }) =>
      html`<li><a href="${path}" dir="auto"${current(path === here, 'page')}>${title}</a></li>`,
  )
  const head = views.length === 0 ? null : html`<h2>Views</h2>`
  return html`${head}<ul>${items}</ul>${views.some(({ path }) => path === here) ? null : Pin(here)}`
}

const Links = (links: readonly RailLink[], visit: Visit, summary: Summary | null) =>
  links
    .filter(({ opens }) => visit.may(opens ?? 'getSession'))
    .map(
      ({ path, text }) =>
        html`<li><a href="${visit.link(path)}"${current(isUnder(visit.url.pathname, path), 'page')}>${text} ${Figure(path, visit, summary)}</a></li>`,
    )

const Nav = ({ visit, version, summary, rail }: Omit<FrameProps, 'workspaces'>) => {
  const parts = rail.map(
    ([head, links]) =>
      html`${head === '' ? null : html`<h2>${head}</h2>`}<ul>${Links(links, visit, summary)}</ul>`,
  )
  return html`<nav class="rail" id="nav" popover="auto" aria-label="Pages">${parts}${Views(visit)}<footer>Postern ${version}</footer></nav>`
}

interface DocumentProps {
  readonly title: string
  readonly assets: Assets
  readonly theme?: Theme
  readonly children: ComponentChildren
}

const SPRITE = fixed(<Sprite />)

export const Document = ({ title, assets, theme = 'system', children }: DocumentProps) => {
  const look = attrs({ 'data-theme': theme === 'system' ? null : theme })
  const scripts = assets.scripts.map((src) => html`<script type="module" src="${src}"></script>`)
  const links = html`<link rel="stylesheet" href="${assets.style}"/><link rel="icon" href="${assets.icon}" type="image/svg+xml"/>${scripts}`
  return html`<html lang="en"${look}><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="color-scheme" content="light dark"/><title>${title} · Postern</title>${links}</head><body>${SPRITE}${children}</body></html>`
}

const WorkspaceSwitch = ({ visit, workspaces }: Pick<FrameProps, 'visit' | 'workspaces'>) => {
  const { workspace } = visit.scope
  const names = workspaces?.data ?? []
  const shown = names.find(({ id, slug }) => id === workspace || slug === workspace)?.slug ?? workspace
  const link = (to: string | null, text: string, isHere: boolean) =>
    html`<a href="${visit.inWorkspace(to)}"${current(isHere, 'true')}>${text}</a>`
  const more = workspaces?.pagination.next_cursor != null
  const menu = [
    link(null, 'All workspaces', workspace === null),
    names.map(({ slug }) => link(slug, slug, slug === shown)),
    more && html`<a href="${visit.link('/workspaces')}">More workspaces</a>`,
  ]
  return html`<details class="switch" name="bar"><summary><span class="hid">Workspace: </span><span>${shown ?? 'All workspaces'}</span></summary><div class="menu">${menu}</div></details>`
}

const ModeSwitch = (visit: Visit) => {
  const links = (['live', 'test'] as const).map(
    (mode) =>
      html`<a href="${visit.here({ mode })}" class="${mode}"${current(visit.scope.mode === mode, 'true')}>${mode === 'live' ? 'Live' : 'Test'}</a>`,
  )
  return html`<div class="seg mode" role="group" aria-label="Mode">${links}</div>`
}

const initials = (name: string): string => name.replace(/@.*/, '').slice(0, 2).toUpperCase()

const Person = (visit: Visit) => {
  const { person, role } = visit.who
  const name = person?.name ?? person?.email ?? 'Setup link'
  const summary = html`${initials(name)}<span class="hid">, ${name}, ${role ?? 'no role'}: your menu</span>`
  const out = html`<form method="post" action="/sign-out">${FormMarks({ action: 'sign-out' })}${Submit({ children: 'Sign out' })}</form>`
  return html`<details class="switch end who" name="bar"><summary>${summary}</summary><div class="menu"><p>${name}<br/><span class="soft">${role}</span></p><a href="/settings/you">Your settings</a><a href="/settings/sessions">Your sessions</a><a href="/settings/look">Pinned views</a>${ThemeForm({ visit })}${out}</div></details>`
}

const KEYS: readonly (readonly [key: string, does: string])[] = [
  ['/', 'to the search'],
  ['j', 'next row'],
  ['k', 'row before'],
  ['Enter', 'opens the row'],
  ['x', 'ticks the row'],
  ['b', 'blurs addresses and contents, for a shared screen; the same key shows them again'],
  ['Esc', 'closes what is open'],
  ['?', 'this list'],
]

const KeyHelp = () => (
  <dialog class="key-help" id="keys" aria-labelledby="keys-head">
    <h2 id="keys-head">Keys</h2>
    <dl>
      {KEYS.map(([key, does]) => (
        <>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </>
      ))}
    </dl>
    <form method="dialog">
      <Submit>Close</Submit>
    </form>
  </dialog>
)

const KEY_HELP = fixed(<KeyHelp />)

/** On every page, while mail does not flow: the way to where it says why. */
const Flow = ({ visit, summary }: Pick<FrameProps, 'visit' | 'summary'>) => {
  const { tone = 'ok', short = null, title = '' } = summary?.[visit.scope.mode] ?? {}
  if (tone === 'ok') return null
  const icon = Icon({ name: tone === 'bad' ? 'alarm' : 'held', tone })
  const says = short ?? (tone === 'bad' ? 'a pool is down' : 'held')
  return html`<a class="flow" href="${visit.link('/queue')}" title="${title}">${icon}<span>${says}</span></a>`
}

/** On every page of an owner, until a start goes well. */
const SetupFailed = (says: readonly string[] | null) => {
  if (says === null) return null
  const lines = says.slice(0, 10).map((line) => html`<li>${line}</li>`)
  return html`<div class="note bad" role="alert"><div><b>The setup was not applied at the start of this daemon</b>, which runs with what was stored before. Mend the files, and start it again.<ul>${lines}</ul></div></div>`
}

const Search = (visit: Visit) => {
  const { workspace, mode } = visit.scope
  const says = 'Search mail: address, subject, Message-ID or id'
  const field = attrs({ type: 'search', name: 'q', value: visit.query('q') ?? '', 'aria-label': says })
  return html`<form class="find" role="search" action="/emails">${Hidden({ of: { workspace, mode } })}<input${field} placeholder="Address, subject, Message-ID or id" autocomplete="off"/><kbd aria-hidden="true">/</kbd></form>`
}

const SKIP = fixed(
  <a class="skip" href="#main">
    Skip to the content
  </a>,
)

const MENU = fixed(
  <button type="button" class="b open-nav" popovertarget="nav" aria-label="Menu">
    <Icon name="menu" />
  </button>,
)

const BRAND = fixed(
  <>
    <Icon name="gate" />
    <span>Postern</span>
  </>,
)

interface FrameProps {
  readonly visit: Visit
  readonly workspaces: PageOfWorkspaces | null
  readonly version: string
  readonly rail: Rail
  readonly summary: Summary | null
}

interface LayoutProps extends DocumentProps, FrameProps {}

/** All but the content is text: it stands around every page, and costs no more than it has to. */
export const Layout = ({ title, assets, children, ...frame }: LayoutProps) => {
  const { visit, summary } = frame
  const notice = visit.notice === null ? null : html`<p class="note ok" role="status">${visit.notice}</p>`
  const brand = html`<a class="brand" href="${visit.link('/')}" aria-label="Postern">${BRAND}</a>`
  const bar = [
    MENU,
    brand,
    WorkspaceSwitch(frame),
    ModeSwitch(visit),
    Search(visit),
    Flow(frame),
    Person(visit),
  ]
  const body = html`${SKIP}<div class="app"><header class="bar">${bar}</header>${Nav(frame)}<main id="main" tabindex="-1">${SetupFailed(summary?.setup_failed ?? null)}${notice}${children}</main></div>${KEY_HELP}`
  return Document({ title, assets, theme: visit.theme, children: body })
}

interface OpenLayoutProps {
  readonly title: string
  readonly assets: Assets
  readonly path: string
  readonly children: ComponentChildren
}

export const OpenLayout = ({ title, assets, path, children }: OpenLayoutProps) => (
  <Document title={title} assets={assets}>
    {SKIP}
    <div class="app open">
      <header class="bar">
        <a class="brand" href="/" aria-label="Postern">
          {BRAND}
        </a>
        <a class="end" href={`/sign-in?return_to=${encodeURIComponent(path)}`}>
          Sign in
        </a>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  </Document>
)
