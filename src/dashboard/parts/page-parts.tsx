/**
 * NAME      page-parts - what most pages are put together from
 */
import type { ComponentChildren } from 'preact'
import { Icon } from './status.js'

interface HeadProps {
  /** Of a page that has a state: the state, as a sentence. */
  readonly title: ComponentChildren
  readonly says?: ComponentChildren
  readonly crumb?: ComponentChildren
  readonly actions?: ComponentChildren
}

export const Head = ({ title, says, crumb, actions }: HeadProps) => (
  <>
    {crumb === undefined ? null : <p class="crumb">{crumb}</p>}
    <header class="head">
      <div>
        <h1>{title}</h1>
        {says === undefined ? null : <p>{says}</p>}
      </div>
      {actions === undefined ? null : <div class="actions">{actions}</div>}
    </header>
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

/** `bad`, `wait`, `ok`, or without a hue. */
export const Note = ({
  tone = '',
  icon,
  children,
}: {
  readonly tone?: string
  readonly icon?: string
  readonly children: ComponentChildren
}) => (
  <div class={`note ${tone}`.trim()}>
    {icon === undefined ? null : <Icon name={icon} />}
    <div>{children}</div>
  </div>
)

/** A list with nothing in it says what would fill it. */
export const Empty = ({
  title,
  whole = false,
  children,
}: {
  readonly title: string
  /** True where the page has nothing else: then this is its heading. */
  readonly whole?: boolean
  readonly children?: ComponentChildren
}) => (
  <div class="empty">
    {whole ? <h1>{title}</h1> : <h2>{title}</h2>}
    {children}
  </div>
)

/** Text to copy: a command, a record, a secret. */
export const Code = ({ text, label }: { readonly text: string; readonly label?: string }) => (
  <div class="code">
    {label === undefined ? null : <span class="label">{label}</span>}
    <pre tabIndex={0}>{text}</pre>
    <button type="button" class="b tiny copy" data-copy={text} hidden>
      Copy
    </button>
  </div>
)

export const Facts = ({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren] | null)[]
}) => (
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

/** Links for one of few. */
export const Choices = ({
  label,
  options,
}: {
  readonly label: string
  readonly options: readonly { readonly href: string; readonly text: string; readonly on: boolean }[]
}) => (
  <div class="seg" role="group" aria-label={label}>
    {options.map(({ href, text, on }) => (
      <a href={href} aria-current={on ? 'true' : undefined}>
        {text}
      </a>
    ))}
  </div>
)

export const Tabs = ({
  label,
  tabs,
}: {
  readonly label: string
  readonly tabs: readonly {
    readonly href: string
    readonly text: string
    readonly on: boolean
    readonly n?: number
  }[]
}) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ href, text, on, n }) => (
      <a href={href} aria-current={on ? 'page' : undefined}>
        {text}
        {n === undefined ? null : <span class="n">{n}</span>}
      </a>
    ))}
  </nav>
)
