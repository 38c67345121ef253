/**
 * NAME      layout - what stands around every page
 * DESCRIPTION
 *   The document, the bar on top (workspace, mode, search, person) and the rail of pages. Nothing here needs a script.
 */
import type { ComponentChildren } from 'preact'
import type { Assets } from './assets/assets.js'
import { ThemeForm } from './pages/look.js'
import { FormMarks, Hidden } from './parts/form.js'
import { Sprite } from './parts/sprite.js'
import { Icon } from './parts/status.js'
import { Rail } from './rail.js'
import type { PageOfWorkspaces, Summary, Theme, Visit } from './visit.js'

interface DocumentProps {
  readonly title: string
  readonly assets: Assets
  readonly theme?: Theme
  readonly children: ComponentChildren
}

/** The bare document, for pages without a person too. */
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

interface SwitchProps {
  readonly visit: Visit
  readonly workspaces: PageOfWorkspaces | null
}

const WorkspaceSwitch = ({ visit, workspaces }: SwitchProps) => {
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
          <button type="submit" class="b">
            Sign out
          </button>
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

/** Opened by a script; without one nobody needs it. */
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
      <button type="submit" class="b">
        Close
      </button>
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
