/**
 * NAME      layout - what stands around every page
 * DESCRIPTION
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
import type { PageOfWorkspaces, Summary, Theme, Visit } from './visit.js'

/** Pages by the heading that they stand below; the first have none. */
const RAIL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': { '/': 'Overview', '/emails': 'Emails', '/queue': 'Queue', '/suppressions': 'Suppressions' },
  Egress: { '/pools': 'Pools', '/domains': 'Domains' },
  Integrations: { '/keys': 'API keys', '/credentials': 'SMTP credentials', '/webhooks': 'Webhooks' },
  Settings: {
    ...{ '/workspaces': 'Workspaces', '/settings/people': 'People', '/settings/sessions': 'Sessions' },
    ...{ '/settings/audit': 'Audit', '/settings/daemons': 'Daemons' },
    '/settings/postmaster': 'Mail to postmaster@',
  },
  Reference: { '/docs': 'Documentation', '/errors': 'Errors' },
}

/** What somebody must be allowed to do to be shown the link; unsaid, anybody is. */
const OPENS: Readonly<Record<string, Operation>> = {
  '/settings/people': 'listUsers',
  '/settings/audit': 'listAudit',
  '/settings/postmaster': 'listAudit',
}

/** What is said beside a link, where there is something to say. */
const figureOf = (path: string, visit: Visit, summary: Summary): string | null => {
  const { short, down } = summary[visit.scope.mode]
  const some = (n: number, words: string) => (n === 0 ? null : `${figure(n)} ${words}`)
  if (path === '/queue') return short
  if (path === '/pools') return some(down, 'down')
  return path === '/webhooks' ? some(summary.webhooks_failing, 'failing') : null
}

const Figure = ({ path, visit, summary }: { path: string; visit: Visit; summary: Summary | null }) => {
  const words = summary === null ? null : figureOf(path, visit, summary)
  if (words === null) return null
  const isQuiet = path === '/queue' && summary?.[visit.scope.mode].tone === 'ok'
  return <span class={isQuiet ? 'n' : 'n warn'}>{words}</span>
}

const isUnder = (path: string, link: string): boolean =>
  link === '/' ? path === '/' : path === link || path.startsWith(`${link}/`)

const Views = ({ visit }: { readonly visit: Visit }) => {
  const { person } = visit.who
  if (person === null) return null
  const views = person.views ?? []
  const here = pinPath(visit)
  return (
    <>
      {views.length === 0 ? null : <h2>Views</h2>}
      <ul>
        {views.map(({ title, path }) => (
          <li>
            <a href={path} dir="auto" aria-current={path === here ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
      {views.some(({ path }) => path === here) ? null : (
        <details class="fold pin">
          <summary>Pin this view</summary>
          <form method="post" action="/settings/look" class="form">
            <FormMarks action="pin" />
            <input type="hidden" name="back" value={here} />
            <label for="pin-title">
              Name
              <input id="pin-title" name="title" maxLength={60} required autocomplete="off" />
            </label>
            <Submit>Pin</Submit>
          </form>
        </details>
      )}
    </>
  )
}

const Rail = ({ visit, version, summary }: { visit: Visit; version: string; summary: Summary | null }) => (
  <nav class="rail" id="nav" popover="auto" aria-label="Pages">
    {Object.entries(RAIL).map(([head, links]) => (
      <>
        {head === '' ? null : <h2>{head}</h2>}
        <ul>
          {Object.entries(links)
            .filter(([path]) => visit.may(OPENS[path] ?? 'getSession'))
            .map(([path, text]) => (
              <li>
                <a
                  href={visit.link(path)}
                  aria-current={isUnder(visit.url.pathname, path) ? 'page' : undefined}
                >
                  {text} <Figure {...{ path, visit, summary }} />
                </a>
              </li>
            ))}
        </ul>
      </>
    ))}
    <Views visit={visit} />
    <footer>Postern {version}</footer>
  </nav>
)

interface DocumentProps {
  readonly title: string
  readonly assets: Assets
  readonly theme?: Theme
  readonly children: ComponentChildren
}

export const Document = ({ title, assets, theme = 'system', children }: DocumentProps) => (
  <html lang="en" data-theme={theme === 'system' ? undefined : theme}>
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${title} · Postern`}</title>
      <link rel="stylesheet" href={assets.style} />
      <link rel="icon" href={assets.icon} type="image/svg+xml" />
      {assets.scripts.map((src) => (
        <script type="module" src={src} />
      ))}
    </head>
    <body>
      <Sprite />
      {children}
    </body>
  </html>
)

const WorkspaceSwitch = ({ visit, workspaces }: { visit: Visit; workspaces: PageOfWorkspaces | null }) => {
  const { workspace } = visit.scope
  const names = workspaces?.data ?? []
  const shown = names.find(({ id, slug }) => id === workspace || slug === workspace)?.slug ?? workspace
  return (
    <details class="switch" name="bar">
      <summary>
        <span class="hid">Workspace: </span>
        <span>{shown ?? 'All workspaces'}</span>
      </summary>
      <div class="menu">
        <a href={visit.inWorkspace(null)} aria-current={workspace === null ? 'true' : undefined}>
          All workspaces
        </a>
        {names.map(({ slug }) => (
          <a href={visit.inWorkspace(slug)} aria-current={slug === shown ? 'true' : undefined}>
            {slug}
          </a>
        ))}
        {workspaces?.pagination.next_cursor == null ? null : (
          <a href={visit.link('/workspaces')}>More workspaces</a>
        )}
      </div>
    </details>
  )
}

const ModeSwitch = ({ visit }: { readonly visit: Visit }) => (
  <div class="seg mode" role="group" aria-label="Mode">
    {(['live', 'test'] as const).map((mode) => (
      <a
        href={visit.here({ mode })}
        class={mode}
        aria-current={visit.scope.mode === mode ? 'true' : undefined}
      >
        {mode === 'live' ? 'Live' : 'Test'}
      </a>
    ))}
  </div>
)

const initials = (name: string): string => name.replace(/@.*/, '').slice(0, 2).toUpperCase()

const Person = ({ visit }: { readonly visit: Visit }) => {
  const { person, role } = visit.who
  const name = person?.name ?? person?.email ?? 'Setup link'
  return (
    <details class="switch end who" name="bar">
      <summary>
        {initials(name)}
        <span class="hid">{`, ${name}, ${role ?? 'no role'}: your menu`}</span>
      </summary>
      <div class="menu">
        <p>
          {name}
          <br />
          <span class="soft">{role}</span>
        </p>
        <a href="/settings/you">Your settings</a>
        <a href="/settings/sessions">Your sessions</a>
        <a href="/settings/look">Pinned views</a>
        <ThemeForm visit={visit} />
        <form method="post" action="/sign-out">
          <FormMarks action="sign-out" />
          <Submit>Sign out</Submit>
        </form>
      </div>
    </details>
  )
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

/** On every page, while mail does not flow: the way to where it says why. */
const Flow = ({ visit, summary }: Pick<LayoutProps, 'visit' | 'summary'>) => {
  const { tone = 'ok', short = null, title = '' } = summary?.[visit.scope.mode] ?? {}
  if (tone === 'ok') return null
  return (
    <a class="flow" href={visit.link('/queue')} title={title}>
      <Icon name={tone === 'bad' ? 'alarm' : 'held'} tone={tone} />
      <span>{short ?? (tone === 'bad' ? 'a pool is down' : 'held')}</span>
    </a>
  )
}

/** On every page of an owner, until a start goes well. */
const SetupFailed = ({ says }: { readonly says: readonly string[] | null }) =>
  says === null ? null : (
    <div class="note bad" role="alert">
      <div>
        <b>The setup was not applied at the start of this daemon</b>, which runs with what was stored before.
        Mend the files, and start it again.
        <ul>
          {says.slice(0, 10).map((line) => (
            <li>{line}</li>
          ))}
        </ul>
      </div>
    </div>
  )

interface LayoutProps extends DocumentProps {
  readonly visit: Visit
  readonly workspaces: PageOfWorkspaces | null
  readonly version: string
  readonly summary: Summary | null
}

export const Layout = ({ title, assets, visit, workspaces, version, summary, children }: LayoutProps) => (
  <Document title={title} assets={assets} theme={visit.theme}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <div class="app">
      <header class="bar">
        <button type="button" class="b open-nav" popovertarget="nav" aria-label="Menu">
          <Icon name="menu" />
        </button>
        <a class="brand" href={visit.link('/')} aria-label="Postern">
          <Icon name="gate" />
          <span>Postern</span>
        </a>
        <WorkspaceSwitch {...{ visit, workspaces }} />
        <ModeSwitch visit={visit} />
        <form class="find" role="search" action="/emails">
          <Hidden of={{ workspace: visit.scope.workspace, mode: visit.scope.mode }} />
          <input
            type="search"
            name="q"
            value={visit.query('q') ?? ''}
            aria-label="Search mail: address, subject, Message-ID or id"
            placeholder="Address, subject, Message-ID or id"
            autocomplete="off"
          />
          <kbd aria-hidden="true">/</kbd>
        </form>
        <Flow {...{ visit, summary }} />
        <Person visit={visit} />
      </header>
      <Rail {...{ visit, version, summary }} />
      <main id="main" tabIndex={-1}>
        <SetupFailed says={summary?.setup_failed ?? null} />
        {visit.notice === null ? null : (
          <p class="note ok" role="status">
            {visit.notice}
          </p>
        )}
        {children}
      </main>
    </div>
    <KeyHelp />
  </Document>
)

interface OpenLayoutProps {
  readonly title: string
  readonly assets: Assets
  readonly path: string
  readonly children: ComponentChildren
}

export const OpenLayout = ({ title, assets, path, children }: OpenLayoutProps) => (
  <Document title={title} assets={assets}>
    <a class="skip" href="#main">
      Skip to the content
    </a>
    <div class="app open">
      <header class="bar">
        <a class="brand" href="/" aria-label="Postern">
          <Icon name="gate" />
          <span>Postern</span>
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
