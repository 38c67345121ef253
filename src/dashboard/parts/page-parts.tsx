/**
 * NAME      page-parts - what most pages are put together from, and pages that say why there is no page
 *   Parts that follow what happens are as old as the last load without scripts. A script asks for the page again when something
 *   has happened, and takes over what stands in these places. A reader who sees no subjects gets no events.
 *   What is gone, what may not be seen, what failed: each in a sentence, with a way on, and with the request id that the log has.
 */
import type { ComponentChildren } from 'preact'
import type { Managed } from '../../resource/member.js'
import { leastFor, type Operation } from '../../tenant/rights.js'
import type { Problem } from '../ask.js'
import { html, useVisit, visitIfAny } from '../render.js'
import { titled, type View, type Visit } from '../visit.js'
import { Icon } from './status.js'

const useLink = (path: string): string => visitIfAny()?.link(path) ?? path

/** Where the page belongs to: the list, and what it is there. */
type Above = readonly [path: string, text: ComponentChildren, here?: ComponentChildren]

export const Crumb = ({ above: [path, text, here] }: { readonly above: Above }) => (
  <p class="crumb">
    <a href={useLink(path)}>{text}</a>
    {here === undefined ? null : <> / {here}</>}
  </p>
)

type Maker = readonly [path: string, text: string, does: Operation]

const linkAs = (look: string) => (props: { readonly to: string; readonly children: ComponentChildren }) => (
  <a class={look} href={props.to}>
    {props.children}
  </a>
)

export const ButtonLink = linkAs('b')
export const TinyLink = linkAs('b tiny')
export const MainLink = linkAs('b main')
export const HarmLink = linkAs('b harm')

const Make = ({ by: [path, text] }: { readonly by: Maker }) => <MainLink to={useLink(path)}>{text}</MainLink>

const useMaker = (make: Maker | null): Maker | null =>
  make !== null && visitIfAny()?.may(make[2]) ? make : null

interface HeadProps {
  /** Of a page that has a state: the state, as a sentence. */
  readonly title: ComponentChildren
  readonly says?: ComponentChildren
  readonly crumb?: Above
  readonly actions?: ComponentChildren
  readonly make?: Maker | null
}

export const Head = ({ title, says, crumb, make = null, ...more }: HeadProps) => {
  const by = useMaker(make)
  const actions = by === null ? more.actions : <Make by={by} />
  return (
    <>
      {crumb === undefined ? null : <Crumb above={crumb} />}
      <header class="head">
        <div>
          <h1>{title}</h1>
          {says === undefined ? null : <p>{says}</p>}
        </div>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </header>
    </>
  )
}

export const PageBody = ({ children, ...head }: HeadProps & { readonly children: ComponentChildren }) => (
  <>
    <Head {...head} />
    {children}
  </>
)

interface SectionProps {
  readonly title: string
  readonly says?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
  readonly id?: string
}

export const Section = ({ title, says, actions, children, id }: SectionProps) => (
  <section id={id}>
    <div class="sec">
      <h2>{title}</h2>
      {says === undefined ? null : <p>{says}</p>}
      {actions === undefined ? null : <div class="actions">{actions}</div>}
    </div>
    {children}
  </section>
)

interface NoteProps {
  readonly tone?: string
  readonly icon?: string
  readonly children: ComponentChildren
}

/** `bad`, `wait`, `ok`, or without a hue. */
export const Note = ({ tone = '', icon, children }: NoteProps) => (
  <div class={`note ${tone}`.trim()}>
    {icon === undefined ? null : <Icon name={icon} />}
    <div>{children}</div>
  </div>
)

interface EmptyProps {
  readonly title: string
  /** True where the page has nothing else: then this is its heading. */
  readonly whole?: boolean
  readonly make?: Maker
  readonly says?: string
  readonly children?: ComponentChildren
}

/** A list with nothing in it says what would fill it. */
export const Empty = ({ title, whole = false, make, says, children }: EmptyProps) => {
  const by = useMaker(make ?? null)
  return (
    <div class="empty">
      {whole ? <h1>{title}</h1> : <h2>{title}</h2>}
      {says === undefined ? null : <p>{says}</p>}
      {children}
      {by === null ? null : (
        <p>
          <Make by={by} />
        </p>
      )}
    </div>
  )
}

export const Copy = ({ text }: { readonly text: string }) => (
  <button type="button" class="b tiny copy" data-copy={text} hidden>
    Copy
  </button>
)

/** What a machine or a stranger said, as it came. */
export const Reply = ({ text, clamp = false }: { readonly text: string | null; readonly clamp?: boolean }) =>
  text === null ? null : html`<span class="${clamp ? 'reply clamp' : 'reply'}" dir="auto">${text}</span>`

export const Samples = ({ name, samples }: { name: string; samples: readonly Sample[] }) => (
  <div class="codes">
    {samples.map(({ name: language, text }, at) => (
      <details class="code" name={name} open={at === 0}>
        <summary>{language}</summary>
        <pre tabIndex={0}>{text}</pre>
        <Copy text={text} />
      </details>
    ))}
  </div>
)

export interface Sample {
  readonly name: string
  readonly text: string
}

export const Code = ({ text, label }: { readonly text: string; readonly label?: string }) => (
  <div class="code">
    {label === undefined ? null : <span class="label">{label}</span>}
    <pre tabIndex={0}>{text}</pre>
    <Copy text={text} />
  </div>
)

interface FactsProps {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren] | null)[]
}

export const Facts = ({ facts }: FactsProps) => (
  <dl class="facts">
    {facts.map((fact) =>
      fact === null ? null : (
        <div>
          <dt>{fact[0]}</dt>
          <dd>{fact[1]}</dd>
        </div>
      ),
    )}
  </dl>
)

interface ChoicesProps {
  readonly label: string
  readonly options: readonly { readonly href: string; readonly text: string; readonly on: boolean }[]
}

export const Choices = ({ label, options }: ChoicesProps) => (
  <div class="seg" role="group" aria-label={label}>
    {options.map(({ href, text, on }) => (
      <a href={href} aria-current={on ? 'true' : undefined}>
        {text}
      </a>
    ))}
  </div>
)

interface TabsProps {
  readonly label: string
  readonly tabs: readonly {
    readonly href: string
    readonly text: string
    readonly on: boolean
    readonly n?: number
  }[]
}

export const Tabs = ({ label, tabs }: TabsProps) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ href, text, on, n }) => (
      <a href={href} aria-current={on ? 'page' : undefined}>
        {text}
        {n === undefined ? null : <span class="n">{n}</span>}
      </a>
    ))}
  </nav>
)

/**
 * The state in a word, and a pause that lasts. `table` is the id of a table whose rows have ids of their own: new ones
 * come in on top. A list that does not begin at its newest row should not have it. What happens to mail of the other
 * mode is passed over, unless the page is of both.
 */
export const LiveState = ({ table = '', both = false }: { table?: string; both?: boolean }) => {
  const visit = useVisit()
  if (!visit.can('subjects')) return null
  return (
    <span
      class="live-state scripted"
      data-live={table}
      data-mode={both ? undefined : visit.scope.mode}
      data-path="/live"
      data-state="wait"
    >
      <span role="status">Connecting</span>
      <button type="button" class="b tiny">
        Pause
      </button>
    </span>
  )
}

/** A place whose content is taken over as a whole, at most every few seconds. */
export const Refreshed = ({ id, children }: { id: string; children: ComponentChildren }) => (
  <div id={id} data-refresh={useVisit().can('subjects') ? '' : undefined}>
    {children}
  </div>
)

interface ShownOnceProps {
  readonly visit: Visit
  readonly back: readonly [path: string, text: string]
  readonly title: string
  readonly secrets: readonly { readonly label: string; readonly text: string }[]
  readonly samples?: readonly Sample[]
  readonly says: string
}

export const shownOnce = (props: ShownOnceProps): View => {
  const { visit, back, title, secrets, samples = [], says } = props
  const [path, text] = back
  return titled(
    title,
    <>
      <Head title={title} crumb={[path, text]} />
      <Note tone="ok" icon="delivered">
        <p>{says}</p>
      </Note>
      {secrets.map((one) => (
        <Code label={one.label} text={one.text} />
      ))}
      {samples.length === 0 ? null : (
        <Section title="Try it" says="each line has the secret in it">
          <Samples name="samples" samples={samples} />
        </Section>
      )}
      <p class="actions gap">
        <MainLink to={visit.link(path)}>I have it; hide it for good</MainLink>
      </p>
    </>,
  )
}

interface Made {
  readonly row: { readonly managed: Managed | null }
}

export const ManagedMark = ({ row: { managed } }: Made) =>
  managed === null ? null : (
    <span class="sub" title={`as ${managed.name}`}>
      made by the setup {managed.setup}
    </span>
  )

export const ManagedNote = ({ row: { managed } }: Made) =>
  managed === null ? null : (
    <Note>
      <p>
        Made by the setup <strong>{managed.setup}</strong>, as <code dir="auto">{managed.name}</code>. What is
        changed here, <code>postern apply</code> leaves alone from then on (<code>!</code>), and what is
        removed here stays removed; so change its files instead.
      </p>
    </Note>
  )

const TITLES: Readonly<Record<number, string>> = {
  403: 'Not for your role',
  404: 'Nothing is here',
  413: 'Too large',
  429: 'Too many requests',
  503: 'Not available for now',
}

/** Details of /v1 begin small and end without a full stop. */
export const asSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

export const troubleView = (problem: Problem): View => {
  const { status, title, detail, request_id: id } = problem
  const heading = TITLES[status] ?? title
  return {
    title: heading,
    status,
    body: (
      <Empty whole title={heading}>
        <p>{asSentence(detail ?? title)}</p>
        {id === undefined ? null : (
          <p class="soft">
            Request <code>{id}</code>
          </p>
        )}
        <p>
          <a href="/">To the overview</a>
        </p>
      </Empty>
    ),
  }
}

const neededFor = (operation: Operation, role: string | null): string => {
  const least = leastFor(operation)
  if (least === 'bodies' || least === 'subjects') return 'Viewers do not see what is written in mail.'
  return `This needs the role ${least}; yours is ${role}.`
}

/** For whoever may not do what a page, or a form of it, is for; null for everybody else. */
export const refusalOf = (visit: Visit, operation: Operation | undefined): Problem | null =>
  operation === undefined || visit.may(operation)
    ? null
    : {
        title: 'Not for your role',
        status: 403,
        code: 'auth.role_forbidden',
        detail: neededFor(operation, visit.who.role),
      }

export const NOT_FOUND: Problem = {
  title: 'No such page',
  status: 404,
  code: 'route.not_found',
  detail: 'No page has this address. It may have been written wrong, or what it showed is gone.',
}
