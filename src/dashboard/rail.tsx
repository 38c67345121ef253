/**
 * NAME      rail - the pages, and the views that a person has pinned
 */
import { pinPath } from './pages/look.js'
import { FormMarks } from './parts/form.js'
import type { Visit } from './visit.js'

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

const OWNERS: ReadonlySet<string> = new Set(['/settings/people', '/settings/audit'])

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

export const Rail = ({ visit, version }: { readonly visit: Visit; readonly version: string }) => (
  <nav class="rail" id="nav" popover="auto" aria-label="Pages">
    {RAIL.map(([head, links]) => (
      <>
        {head === null ? null : <h2>{head}</h2>}
        <ul>
          {links
            .filter(([path]) => visit.may(OWNERS.has(path) ? 'owner' : 'viewer'))
            .map(([path, text]) => (
              <li>
                <a
                  href={visit.link(path)}
                  aria-current={isUnder(visit.url.pathname, path) ? 'page' : undefined}
                >
                  {text}
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
