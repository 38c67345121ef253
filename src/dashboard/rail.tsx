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
}

/** What is said beside a link, where there is something to say: the first that is not zero. */
const FIGURES: Readonly<Record<string, readonly (readonly [member: keyof Summary, words: string])[]>> = {
  '/queue': [
    ['waiting', 'waiting'],
    ['held', 'held'],
  ],
  '/pools': [['pools_down', 'down']],
  '/webhooks': [['webhooks_failing', 'failing']],
}

const Figure = ({ path, summary }: { readonly path: string; readonly summary: Summary | null }) => {
  const [member, words] = FIGURES[path]?.find(([one]) => (summary?.[one] ?? 0) > 0) ?? []
  if (member === undefined) return null
  return (
    <span class={path === '/queue' ? 'n' : 'n warn'}>
      {figure(summary?.[member] ?? 0)} {words}
    </span>
  )
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
                  {text} <Figure {...{ path, summary }} />
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
