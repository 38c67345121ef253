/**
 * NAME      inbox - captured mail, as whoever builds an application wants to see it
 *   In dev mode the mails stand beside the one that is read, with its link and its one-time code pulled out to copy.
 *   The whole story of a mail is one link further.
 */
import type { Problem } from '../../ask.js'
import { codeIn, linksIn, mainLink, roughText } from '../../mail/checks.js'
import { askContent, type MailContent, MOST_HTML, readPart } from '../../mail/content.js'
import { type Email, type ListedEmail, subjectOf, verdictOf } from '../../mail/verdict.js'
import { Copy, LiveState, Refreshed, TinyLink } from '../../parts/page-parts.js'
import { Icon, Status } from '../../parts/status.js'
import { Said, Time } from '../../parts/text.js'
import { titled, type View, type Visit } from '../../visit.js'

interface ListProps {
  readonly visit: Visit
  readonly rows: readonly ListedEmail[]
  readonly chosen: string
}

const toWords = ({ to, cc, bcc }: ListedEmail): string => {
  const all = [...to, ...cc, ...bcc]
  return all.length === 1 ? (all[0] ?? '') : `to ${all.length} recipients`
}

const MailList = ({ visit, rows, chosen }: ListProps) => (
  <ol>
    {rows.map((row) => (
      <li {...(row.id === chosen && { 'aria-current': 'true' as const })}>
        <a href={visit.here({ mail: row.id })}>
          <bdi>{subjectOf(row)}</bdi>
        </a>
        <Time at={row.created_at} />
        <p>
          <bdi>{toWords(row)}</bdi>
        </p>
        <Status status={row.status} />
      </li>
    ))}
  </ol>
)

const Grab = ({ label, text, isCode }: { label: string; text: string; isCode: boolean }) => (
  <>
    <span>{label}</span>
    <code class={isCode ? 'pin' : undefined} dir="ltr" title={text}>
      {text}
    </code>
    <Copy text={text} />
  </>
)

const Grabbed = ({ email, content }: { readonly email: Email; readonly content: MailContent }) => {
  const html = content.html === null ? null : readPart(content, content.html, MOST_HTML).text
  const text = readPart(content, content.text).text
  const link = mainLink(linksIn(html, text))
  const code = codeIn(
    email.subject ?? '',
    text === '' && html !== null ? roughText(html.slice(0, 200_000)) : text,
  )
  if (link === null && code === null) return null
  return (
    <div class="grab">
      {code === null ? null : <Grab label="Code" text={code.replace(/[\s\u00a0]/g, '')} isCode />}
      {link === null ? null : <Grab label="Link" text={link.url} isCode={false} />}
    </div>
  )
}

const Body = ({ visit, email, content }: { visit: Visit; email: Email; content: MailContent | Problem }) => {
  if (!('raw' in content)) return <p class="soft">{content.detail ?? content.title}</p>
  if (content.html === null)
    return (
      <pre class="pre" dir="auto" tabIndex={0}>
        {readPart(content, content.text).text}
      </pre>
    )
  return (
    <div class="view">
      <iframe
        sandbox=""
        {...{ referrerpolicy: 'no-referrer' }}
        title="Preview of the HTML part"
        src={visit.link(`/emails/${email.id}/preview`)}
      />
    </div>
  )
}

interface ReaderProps {
  visit: Visit
  email: Email
  content: MailContent | Problem
}

const Reader = ({ visit, email, content }: ReaderProps) => {
  const verdict = verdictOf(email, [], visit.now)
  const path = `/emails/${email.id}`
  return (
    <article class="reader" aria-label={subjectOf(email)}>
      <h2 dir="auto">{subjectOf(email)}</h2>
      <p class="actions">
        <span class="outcome">
          <Icon name={verdict.icon} tone={verdict.tone} />
          <span>
            <Said text={verdict.title} />
          </span>
        </span>
        <a href={visit.link(path)}>Its whole story</a>
      </p>
      <dl class="addr">
        <dt>From</dt>
        <dd>
          <bdi>{email.from}</bdi>
        </dd>
        <dt>To</dt>
        <dd>
          <bdi>{[...email.to, ...email.cc, ...email.bcc].slice(0, 5).join(', ')}</bdi>
          {email.recipients.length > 5 ? ` and ${email.recipients.length - 5} more` : ''}
        </dd>
        <dt>At</dt>
        <dd>
          <Time at={email.created_at} exact />
        </dd>
      </dl>
      {'raw' in content ? <Grabbed {...{ email, content }} /> : null}
      <p class="actions">
        {(['text', 'headers', 'source', 'attachments', 'checks'] as const).map((tab) => (
          <TinyLink to={visit.link(path, { tab })}>{tab.charAt(0).toUpperCase() + tab.slice(1)}</TinyLink>
        ))}
      </p>
      <Body {...{ visit, email, content }} />
    </article>
  )
}

export const inboxView = async (visit: Visit, rows: readonly ListedEmail[]): Promise<View> => {
  const chosen = visit.query('mail') ?? rows[0]?.id ?? ''
  const path = `/v1/emails/${encodeURIComponent(chosen)}`
  const [email, content] = await Promise.all([
    visit.find<Email>(path, { query: { content: 'false' } }),
    askContent(visit, chosen),
  ])
  return titled(
    'Captured mail',
    <>
      <aside class="devline" aria-label="Mode">
        <b>
          <Icon name="held" tone="wait" />
          Dev mode: mail is captured, nothing leaves this machine.
        </b>
        <span>
          Try <code>bounced@</code>, <code>deferred@</code> or <code>slow@</code> at any domain.
        </span>
      </aside>
      <h1 class="hid">Captured mail</h1>
      <div class="panes">
        <section class="list" aria-label="Captured mail">
          <div class="tools">
            <a href={visit.here({ view: 'table', mail: null })}>As a table, with filters</a>
            <LiveState />
          </div>
          <Refreshed id="inbox">
            <MailList {...{ visit, rows, chosen }} />
          </Refreshed>
        </section>
        {email === null ? (
          <p class="reader">This mail is not here, or no longer.</p>
        ) : (
          <Reader {...{ visit, email, content }} />
        )}
      </div>
    </>,
  )
}
