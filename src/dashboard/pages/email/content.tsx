/**
 * NAME      content - what the recipient gets, in tabs and as files
 *   All of it was written by others and is shown as text, but for the preview, which is a frame of its own route. A body
 *   that is no longer kept, or that the role may not see, says so. What the checks say of the sending domain comes from the
 *   domains that are kept here; nobody is asked anything.
 *   No octets of a mail can act in the name of this site: the preview is sandboxed by its own policy and shown in a frame
 *   only, a report is plain text and nothing else, and the rest is saved as a file that no browser opens by itself.
 */
import type { ComponentChildren } from 'preact'
import type { MailEvent } from '../../../record/event.js'
import type { Domain } from '../../../resource/domain.js'
import { AskError, type Problem } from '../../ask.js'
import { checksOf, headersOf, picturesIn, sizeWords } from '../../mail/checks.js'
import {
  asAttachment,
  cleanHtml,
  demandContent,
  type MailContent,
  MOST_HTML,
  MOST_SHOWN,
  octetsOf,
  readPart,
  saveName,
} from '../../mail/content.js'
import type { Email } from '../../mail/verdict.js'
import { asSentence, ButtonLink, Choices, Empty, Tabs } from '../../parts/page-parts.js'
import { Icon } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Address, Time } from '../../parts/text.js'
import type { Raw, RawRoute, Visit } from '../../visit.js'

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
      <ButtonLink to={visit.link(`/emails/${email.id}/source`)}>Download .eml</ButtonLink>
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
      <Table
        caption="Links"
        rows={links}
        columns={[
          { head: 'Host', cell: ({ host }) => <code>{host}</code> },
          { head: 'Link', kind: 'grow', cell: ({ url }) => <code dir="ltr">{url}</code> },
        ]}
        none={null}
      />
    </>
  )
}

const Events = ({ events }: { readonly events: readonly MailEvent[] }) => (
  <Table
    caption="Events, newest first"
    rows={events}
    columns={[
      { head: 'When', cell: (event) => Time({ at: event.occurred_at }) },
      {
        head: 'Type',
        cell: (event) => (
          <code>
            <Address text={event.type} isTight />
          </code>
        ),
      },
      { head: 'Recipient', cell: (event) => <Address text={event.recipient ?? 'all'} isTight /> },
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
      <Empty
        title="Not for your role"
        says="Your role sees what became of a mail, and not what was written in it. An owner can change that."
      />
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

const domainOf = (from: string): string | null => /@([^\s<>@]+?)>?\s*$/.exec(from)?.[1]?.toLowerCase() ?? null

export const domainCheck = async (visit: Visit, from: string): Promise<ComponentChildren> => {
  const name = domainOf(from)
  if (name === null) return null
  const domain = await visit.part<Domain>(`/v1/domains/${encodeURIComponent(name)}`, { scoped: false })
  const known = 'verified' in domain
  const isGood = known && domain.verified
  return (
    <li>
      <Icon name={isGood ? 'delivered' : 'alarm'} tone={isGood ? 'ok' : 'wait'} />
      <div>
        <h3>
          <span class="hid">{isGood ? 'Good: ' : 'Look: '}</span>DKIM, SPF, DMARC of <bdi>{name}</bdi>
        </h3>
        <p class="soft">
          {!known ? (
            <>
              Not known: the domain is not among the <a href={visit.link('/domains')}>sending domains</a>, so
              nothing is signed for it here.
            </>
          ) : (
            <>
              {domain.verified
                ? 'Its DKIM keys are published, and mail is signed.'
                : 'Its DKIM keys are not published.'}{' '}
              Looked at <Time at={domain.checked_at} />:{' '}
              <a href={visit.link(`/domains/${name}`)}>the records</a>.
            </>
          )}
        </p>
      </div>
    </li>
  )
}

/** Of all pictures in one preview. */
const MOST_PICTURES = 8 * 1024 * 1024

const policy = (images: boolean): string =>
  [
    'sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    images ? 'img-src data: https: http:' : 'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ')

const headersFor = (type: string, images = false): Readonly<Record<string, string>> => ({
  'content-type': type,
  'content-security-policy': policy(images),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
})

const file = (body: Buffer, name: string): Raw => ({
  status: 200,
  headers: { ...headersFor('application/octet-stream'), 'content-disposition': asAttachment(name) },
  body,
})

const refuse = (status: number, title: string, detail: string): never => {
  throw new AskError({ title, status, code: 'route.not_found', detail })
}

const PICTURE = /^image\/(?:png|jpe?g|gif|webp|bmp|avif|x-icon)$/

const pictureOf = (content: MailContent) => {
  let room = MOST_PICTURES
  return (contentId: string): string | null => {
    const leaf = content.attachments.find((one) => one.contentId === contentId)
    if (leaf === undefined || !PICTURE.test(leaf.type) || leaf.end - leaf.start > room) return null
    room -= leaf.end - leaf.start
    return `data:${leaf.type};base64,${octetsOf(content.raw, leaf).toString('base64')}`
  }
}

const preview = async (visit: Visit): Promise<Raw> => {
  const dest = visit.header('sec-fetch-dest')
  if (dest !== null && dest !== 'iframe')
    refuse(
      403,
      'Only in its frame',
      'The preview of a mail is shown in the page of the mail, and nowhere else.',
    )
  const images = visit.query('images') === 'once'
  const content = await demandContent(visit, visit.params.id ?? '')
  const { text } = readPart(content, content.html, MOST_HTML)
  const { html } = await cleanHtml(text, {
    ...{ images, picture: pictureOf(content) },
    never: [new URL(visit.baseUrl).host],
  })
  const body = `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light">${html}`
  return { status: 200, headers: headersFor('text/html; charset=utf-8', images), body }
}

const source = async (visit: Visit): Promise<Raw> => {
  const id = visit.params.id ?? ''
  const { raw } = await demandContent(visit, id)
  return file(raw, saveName(`${id}.eml`, 'mail.eml'))
}

const attachment = async (visit: Visit): Promise<Raw> => {
  const { id = '', n = '' } = visit.params
  const content = await demandContent(visit, id)
  const leaf = /^[1-9]\d{0,2}$/.test(n) ? content.attachments[Number(n) - 1] : undefined
  if (leaf === undefined)
    return refuse(404, 'No such attachment', 'The mail has no attachment of this number.')
  return file(octetsOf(content.raw, leaf), saveName(leaf.filename, `part-${n}`))
}

const report = async (visit: Visit): Promise<Raw> => {
  const [id = '', event = ''] = [visit.params.id, visit.params.event].map((one) =>
    encodeURIComponent(one ?? ''),
  )
  const answer = await visit.fetch('GET', `/v1/emails/${id}/events/${event}/report`)
  if (answer.status >= 400) throw new AskError(JSON.parse(answer.bytes.toString('utf8')))
  return { status: 200, headers: headersFor('text/plain; charset=utf-8'), body: answer.bytes }
}

export const EMAIL_ROUTES: readonly RawRoute[] = [
  { path: '/emails/{id}/preview', answer: preview },
  { path: '/emails/{id}/source', answer: source },
  { path: '/emails/{id}/events/{event}/report', answer: report },
  { path: '/emails/{id}/attachments/{n}', answer: attachment },
]
