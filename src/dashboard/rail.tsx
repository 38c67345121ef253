/**
 * NAME      rail - the pages, and the views that a person has pinned
 */
import type { Operation } from '../tenant/rights.js'
import { pinPath } from './pages/look.js'
import { figure } from './parts/figure.js'
import { FormMarks } from './parts/form.js'
import type { Summary, Visit } from './visit.js'

const RAIL: readonly (readonly [
  head: string | null,
  links: readonly (readonly [path: string, text: string])[],
])[] = [
  [
    null,
    [
      ['/', 'Overview'],
      ['/emails', 'Emails'],
      ['/queue', 'Queue'],
      ['/suppressions', 'Suppressions'],
    ],
  ],
  [
    'Egress',
    [
      ['/pools', 'Pools'],
      ['/domains', 'Domains'],
    ],
  ],
  [
    'Integrations',
    [
      ['/keys', 'API keys'],
      ['/credentials', 'SMTP credentials'],
      ['/webhooks', 'Webhooks'],
    ],
  ],
  [
    'Settings',
    [
      ['/workspaces', 'Workspaces'],
      ['/settings/people', 'People'],
      ['/settings/sessions', 'Sessions'],
      ['/settings/audit', 'Audit'],
      ['/settings/daemons', 'Daemons'],
      ['/settings/postmaster', 'Mail to postmaster@'],
    ],
  ],
  [
    'Reference',
    [
      ['/docs', 'API reference'],
      ['/errors', 'Errors'],
    ],
  ],
]

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

interface FigureProps {
  readonly path: string
  readonly visit: Visit
  readonly summary: Summary | null
}

const Figure = ({ path, visit, summary }: FigureProps) => {
  const words = summary === null ? null : figureOf(path, visit, summary)
  if (words === null) return null
  const isQuiet = path === '/queue' && summary?.[visit.scope.mode].tone === 'ok'
  return <span class={isQuiet ? 'n' : 'n warn'}>{words}</span>
}

const isUnder = (path: string, link: string): boolean =>
  link === '/' ? path === '/' : path === link || path.startsWith(`${link}/`)

const isHere = (visit: Visit, path: string): boolean => pinPath(visit) === path

/** Views of one's own, and a way to add this one. */
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
            <a href={path} dir="auto" aria-current={isHere(visit, path) ? 'page' : undefined}>
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
            <button type="submit" class="b">
              Pin
            </button>
          </form>
        </details>
      )}
    </>
  )
}

interface RailProps {
  readonly visit: Visit
  readonly version: string
  readonly summary: Summary | null
}

export const Rail = ({ visit, version, summary }: RailProps) => (
  <nav class="rail" id="nav" popover="auto" aria-label="Pages">
    {RAIL.map(([head, links]) => (
      <>
        {head === null ? null : <h2>{head}</h2>}
        <ul>
          {links
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
