/**
 * NAME      content - what the recipient gets, in tabs
 * DESCRIPTION
 *   All of it was written by others and is shown as text, but for the preview, which is a frame of its own route. A body
 *   that is no longer kept, or that the role may not see, says so.
 */

import type { ComponentChildren } from 'preact'
import type { MailEvent } from '../../../record/event.js'
import type { Problem } from '../../ask.js'
import { checksOf, headersOf, sizeWords } from '../../mail/checks.js'
import { type MailContent, MOST_HTML, MOST_SHOWN, readPart } from '../../mail/content.js'
import { picturesIn } from '../../mail/links.js'
import type { Email } from '../../mail/record.js'
import { saveName } from '../../mail/save-name.js'
import { Choices, Empty, Tabs } from '../../parts/page-parts.js'
import { Icon } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { asSentence } from '../../parts/trouble.js'
import type { Visit } from '../../visit.js'

const TABS = ['preview', 'text', 'headers', 'source', 'attachments', 'checks', 'events'] as const
type Tab = (typeof TABS)[number]

export const tabOf = (visit: Visit): Tab => {
  const asked = visit.query('tab')
  return TABS.find((tab) => tab === asked) ?? 'preview'
}

interface Props {
  readonly visit: Visit
  readonly email: Email
  readonly content: MailContent
}

const Cut = ({ visit, email }: Omit<Props, 'content'>) => (
  <p class="soft">
    This is the beginning; <a href={visit.link(`/emails/${email.id}/source`)}>the source</a> has the rest.
  </p>
)

/** Text of a stranger, in a block of its own. */
export const Verbatim = ({ children }: { readonly children: ComponentChildren }) => (
  <pre class="pre long" dir="auto" tabIndex={0}>
    {children}
  </pre>
)

const WIDTHS = ['360', '600'] as const

const Preview = ({ visit, email, content }: Props) => {
  if (content.html === null) return <Text {...{ visit, email, content }} />
  const { text, isCut } = readPart(content, content.html, MOST_HTML)
  const { remote } = picturesIn(text)
  const images = visit.query('images') === 'once' ? 'once' : null
  const width = WIDTHS.find((one) => one === visit.query('width')) ?? null
  return (
    <>
      <div class="view">
        <header>
          {remote === 0 ? (
            <span>No remote images</span>
          ) : images === 'once' ? (
            <span>{remote} remote images, loaded this once</span>
          ) : (
            <>
              <span>{remote === 1 ? '1 remote image not loaded' : `${remote} remote images not loaded`}</span>
              <a href={visit.here({ images: 'once' })}>Load once, without cookies</a>
            </>
          )}
          <Choices
            label="Width of the preview"
            options={[
              ...WIDTHS.map((one) => ({ href: visit.here({ width: one }), text: one, on: width === one })),
              { href: visit.here({ width: null }), text: 'Full', on: width === null },
            ]}
          />
        </header>
        <iframe
          sandbox=""
          {...{ referrerpolicy: 'no-referrer', loading: 'lazy' }}
          class={width === null ? undefined : `w${width}`}
          title="Preview of the HTML part"
          src={visit.link(`/emails/${email.id}/preview`, { images })}
        />
      </div>
      {isCut ? <Cut {...{ visit, email }} /> : null}
    </>
  )
}

const Text = ({ visit, email, content }: Props) => {
  if (content.text === null) return <Empty title="No text part" />
  const { text, isCut } = readPart(content, content.text)
  return (
    <>
      <Verbatim>{text}</Verbatim>
      {isCut ? <Cut {...{ visit, email }} /> : null}
    </>
  )
}

/** Fields of a header on a page. */
const MOST_FIELDS = 300

const Headers = ({ visit, email, content }: Props) => {
  const fields = headersOf(content.raw)
  return (
    <>
      <Table
        caption="Fields of the header"
        rows={fields.slice(0, MOST_FIELDS)}
        columns={[
          { head: 'Field', cell: ([name]) => <code>{name.slice(0, 200)}</code> },
          {
            head: 'Value',
            kind: 'grow',
            cell: ([, value]) => (
              <code class="v" dir="auto">
                {value.slice(0, 8_000)}
              </code>
            ),
          },
        ]}
      />
      {fields.length > MOST_FIELDS ? <Cut {...{ visit, email }} /> : null}
    </>
  )
}

const Source = ({ visit, email, content }: Props) => (
  <>
    <p class="actions">
      <a class="b" href={visit.link(`/emails/${email.id}/source`)}>
        Download .eml
      </a>
      <span class="soft">{sizeWords(content.raw.length)}</span>
    </p>
    <Verbatim>{content.raw.toString('utf8', 0, MOST_SHOWN)}</Verbatim>
    {content.raw.length > MOST_SHOWN ? <Cut {...{ visit, email }} /> : null}
  </>
)

const Attachments = ({ visit, email, content }: Props) => {
  if (content.attachments.length === 0) return <Empty title="No attachments" />
  return (
    <Table
      caption="Attachments"
      rows={content.attachments.map((leaf, at) => ({ leaf, n: at + 1 }))}
      columns={[
        {
          head: 'File',
          kind: 'grow',
          cell: ({ leaf, n }) => (
            <a href={visit.link(`/emails/${email.id}/attachments/${n}`)}>
              <bdi>{saveName(leaf.filename, `part-${n}`)}</bdi>
            </a>
          ),
        },
        { head: 'Type', cell: ({ leaf }) => <code>{leaf.type}</code> },
        {
          head: 'Size',
          kind: 'num',
          cell: ({ leaf }) =>
            sizeWords(Math.round((leaf.end - leaf.start) * (leaf.encoding === 'base64' ? 0.73 : 1))),
        },
        {
          head: 'In the text',
          kind: 'opt',
          cell: ({ leaf }) => (leaf.contentId === null ? 'no' : <code>cid:{leaf.contentId}</code>),
        },
      ]}
    />
  )
}

const CHECK_ICONS = { ok: 'delivered', look: 'alarm', none: 'queued' } as const
const CHECK_TONES = { ok: 'ok', look: 'wait', none: '' } as const
const CHECK_WORDS = { ok: 'Good: ', look: 'Look: ', none: '' } as const

const Checks = ({ content, extra }: Props & { readonly extra: ComponentChildren }) => {
  const { checks, links } = checksOf(content)
  return (
    <>
      <ul class="checks">
        {checks.map(({ name, state, says }) => (
          <li>
            <Icon name={CHECK_ICONS[state]} tone={CHECK_TONES[state]} />
            <div>
              <h3>
                <span class="hid">{CHECK_WORDS[state]}</span>
                {name}
              </h3>
              <p class="soft" dir="auto">
                {says}
              </p>
            </div>
          </li>
        ))}
        {extra}
      </ul>
      {links.length === 0 ? null : (
        <Table
          caption="Links"
          rows={links}
          columns={[
            { head: 'Host', cell: ({ host }) => <code>{host}</code> },
            { head: 'Link', kind: 'grow', cell: ({ url }) => <code dir="ltr">{url}</code> },
          ]}
        />
      )}
    </>
  )
}

const Events = ({ events }: { readonly events: readonly MailEvent[] }) => (
  <Table
    caption="Events, newest first"
    rows={events}
    columns={[
      { head: 'When', cell: (event) => Time({ at: event.occurred_at }) },
      { head: 'Type', cell: (event) => <code>{event.type}</code> },
      { head: 'Recipient', cell: (event) => <bdi>{event.recipient ?? 'all'}</bdi> },
      {
        head: 'Said',
        kind: 'grow',
        cell: (event) => (
          <span class="reply" dir="auto">
            {event.smtp === null ? '' : `${event.smtp.code} ${event.smtp.enhanced ?? ''} ${event.smtp.text}`}
            {event.applied ? '' : ' (changed nothing)'}
          </span>
        ),
      },
      { head: 'Id', kind: 'opt', cell: (event) => <code>{event.id}</code> },
    ]}
  />
)

/** Why there is nothing to read. */
const NoBody = ({ problem }: { readonly problem: Problem }) => {
  if (problem.reason === 'body_gone')
    return (
      <Empty title="The body is gone">
        <p>
          It was kept for as long as <code>retention.bodies</code> says, and then erased. What happened to the
          mail stays for longer.
        </p>
      </Empty>
    )
  if (problem.status === 403)
    return (
      <Empty title="Not for your role">
        <p>Your role sees what became of a mail, and not what was written in it. An owner can change that.</p>
      </Empty>
    )
  return (
    <Empty title="The body cannot be shown">
      <p>{asSentence(problem.detail ?? problem.title)}</p>
    </Empty>
  )
}

const SHOWS: Readonly<Record<Exclude<Tab, 'events' | 'checks'>, (props: Props) => ComponentChildren>> = {
  preview: Preview,
  text: Text,
  headers: Headers,
  source: Source,
  attachments: Attachments,
}

export const Content = ({
  visit,
  email,
  events,
  content,
  domain,
}: Omit<Props, 'content'> & {
  readonly events: readonly MailEvent[]
  readonly content: MailContent | Problem
  /** What is known of the sending domain, for the checks. */
  readonly domain: ComponentChildren
}) => {
  const tab = tabOf(visit)
  const counts: Partial<Record<Tab, number>> = {
    events: events.length,
    ...('raw' in content && { attachments: content.attachments.length }),
  }
  const tabs = TABS.map((one) => ({
    href: visit.here({ tab: one === 'preview' ? null : one, images: null }),
    text: one.charAt(0).toUpperCase() + one.slice(1),
    on: one === tab,
    ...(counts[one] !== undefined && { n: counts[one] }),
  }))
  const Shown = tab === 'events' || tab === 'checks' ? null : SHOWS[tab]
  return (
    <section class="noprint content" aria-label="Content">
      <Tabs label="Parts of the mail" tabs={tabs} />
      {tab === 'events' ? (
        <Events {...{ events }} />
      ) : !('raw' in content) ? (
        <NoBody problem={content} />
      ) : Shown === null ? (
        <Checks {...{ visit, email, content }} extra={domain} />
      ) : (
        <Shown {...{ visit, email, content }} />
      )}
    </section>
  )
}
