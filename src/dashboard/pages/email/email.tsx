/**
 * NAME      email - one mail
 * DESCRIPTION
 *   A sentence that says what became of it, each recipient with its timeline, the facts, and what was written. Three
 *   requests make the page, and some more only for mails of many events or with addresses that may be suppressed.
 */
import type { ComponentChildren } from 'preact'
import { idTime } from '../../../base/id.js'
import { extrasOf } from '../../../lifecycle/facts.js'
import type { MailEvent } from '../../../record/event.js'
import { partsOfWaiting } from '../../../record/queue.js'
import { AskError } from '../../ask.js'
import { askContent } from '../../mail/content.js'
import { type Email, subjectOf, type Verdict, verdictOf } from '../../mail/verdict.js'
import type { Page, Refused, View } from '../../page.js'
import { Code, Crumb, Empty, Facts, Section } from '../../parts/page-parts.js'
import { Icon } from '../../parts/status.js'
import type { List } from '../../parts/table.js'
import { Address, Said, Time } from '../../parts/text.js'
import type { Visit } from '../../visit.js'
import { EMAIL_ACTIONS, EmailActions, type Suppressed } from './actions.js'
import { Content, domainCheck, tabOf } from './content.js'
import { Recipients } from './recipients.js'

const SHOWN = 3

const Addresses = ({ list }: { readonly list: readonly string[] }) => {
  const one = (address: string) => <Address text={address} />
  if (list.length <= SHOWN) return <>{list.map((address, at) => [at > 0 ? ', ' : '', one(address)])}</>
  return (
    <details class="fold">
      <summary>
        <span>
          {list.length} addresses: {one(list[0] ?? '')} and {list.length - 1} more
        </span>
      </summary>
      <div>{list.map((address, at) => [at > 0 ? ', ' : '', one(address)])}</div>
    </details>
  )
}

interface MailFactsProps {
  readonly visit: Visit
  readonly email: Email
  /** As it is called; null where nobody knows. */
  readonly workspace: string | null
}

const AsCurl = ({ visit, email }: Pick<MailFactsProps, 'visit' | 'email'>) => {
  const api = `${visit.baseUrl.replace(/\/+$/, '')}/v1/emails`
  return (
    <details class="fold noprint">
      <summary>As curl</summary>
      <div>
        <Code label="This mail" text={`curl ${api}/${email.id} -H "Authorization: Bearer $KEY"`} />
        <Code
          label="Send it again"
          text={`curl -X POST ${api}/${email.id}/resend -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"to":null}'`}
        />
      </div>
    </details>
  )
}

const tagsOf = (visit: Visit, email: Email) =>
  email.tags.map(({ name, value }) => (
    <a class="tag" href={visit.link('/emails', { tag: `${name}:${value}` })}>
      <bdi>{`${name}:${value}`}</bdi>
    </a>
  ))

const LinkToMail = ({ visit, id }: { readonly visit: Visit; readonly id: string }) => (
  <a href={visit.link(`/emails/${id}`)}>
    <code>{id}</code>
  </a>
)

const MailFacts = ({ visit, email, workspace }: MailFactsProps) => {
  const people = (name: string, list: readonly string[]) =>
    list.length === 0 ? null : ([name, <Addresses list={list} />] as const)
  return (
    <Section title="Facts">
      <Facts
        facts={[
          ['From', <bdi>{email.from}</bdi>],
          people('Reply-To', email.reply_to),
          people('To', email.to),
          people('Cc', email.cc),
          people('Bcc', email.bcc),
          ['Accepted', <Time at={email.created_at} exact />],
          email.scheduled_at === null ? null : ['Scheduled for', <Time at={email.scheduled_at} exact />],
          [
            'Workspace, mode',
            <>
              <a href={visit.link('/emails', { workspace: email.workspace_id })}>
                {workspace === null ? <code>{email.workspace_id}</code> : workspace}
              </a>
              , {email.mode}
            </>,
          ],
          [
            'Came by',
            email.source === 'api' ? 'the API' : email.source === 'smtp' ? 'SMTP' : 'the gateway itself',
          ],
          email.tags.length === 0 ? null : ['Tags', tagsOf(visit, email)],
          ...extrasOf(email).map(
            ({ label, value, isMail }) =>
              [label, isMail ? <LinkToMail {...{ visit, id: value }} /> : <bdi>{value}</bdi>] as const,
          ),
          [
            'Message-ID',
            <code>
              <Address text={email.message_id} />
            </code>,
          ],
          ['Id', <code>{email.id}</code>],
        ]}
      />
      <AsCurl {...{ visit, email }} />
    </Section>
  )
}

const PAGES_OF_EVENTS = 5
const MOST_ASKED = 20

/** Newest first; of a mail with more than some hundred, the newest. */
const eventsOf = async (visit: Visit, path: string): Promise<readonly MailEvent[]> => {
  const events: MailEvent[] = []
  let cursor: string | null = null
  for (let page = 0; page < PAGES_OF_EVENTS; page++) {
    const list: List<MailEvent> = await visit.ask('GET', `${path}/events`, { query: { limit: 100, cursor } })
    events.push(...list.data)
    cursor = list.pagination.next_cursor
    if (!list.pagination.has_next || cursor === null) break
  }
  return events
}

/** Of the addresses that failed, whether mail to them is stopped; one whose whole domain is on a list is left to the page of lists. */
const suppressedOf = async (
  visit: Visit,
  email: Email,
  events: readonly MailEvent[],
): Promise<readonly Suppressed[]> => {
  const complained = new Set(
    events.filter(({ type }) => type === 'email.complained').map(({ recipient }) => recipient),
  )
  const failed = email.recipients.filter(
    ({ status, address }) => status === 'bounced' || complained.has(address),
  )
  const headers = { 'x-workspace-id': email.workspace_id }
  const found = failed.slice(0, MOST_ASKED).map(async ({ address }) => {
    const path = `/v1/suppressions/${encodeURIComponent(address)}`
    const found = await visit.find<{ readonly email: string; readonly status: string }>(path, { headers })
    if (found?.email.startsWith('*@')) return []
    // while an incident is undecided it waits on the list, and mail goes out to it
    return [{ address, is: found !== null && found.status !== 'pending' }]
  })
  return (await Promise.all(found)).flat()
}

interface VerdictHeadProps {
  readonly email: Email
  readonly verdict: Verdict
  readonly children: ComponentChildren
}

const VerdictHead = ({ email, verdict, children }: VerdictHeadProps) => {
  // what has a button needs no command
  const { reason = '', detail = '' } = email.waiting ?? {}
  const remedy = ['backoff', 'held', 'scheduled'].includes(reason) ? null : partsOfWaiting(detail).remedy
  return (
    <>
      <Crumb above={['/emails', 'Emails', <bdi class="one">{subjectOf(email)}</bdi>]} />
      <header class="verdict">
        <Icon name={verdict.icon} tone={verdict.tone} />
        <h1>
          <Said text={verdict.title} />
        </h1>
        {verdict.says === null ? null : (
          <p>
            <Said text={verdict.says} />
          </p>
        )}
        {remedy === null ? null : (
          <p>
            An operator runs <code>{remedy}</code>
          </p>
        )}
        {children}
      </header>
    </>
  )
}

const goneView = (visit: Visit, id: string): View | null => {
  const at = /^em_[0-9a-hjkmnp-tv-z]{26}$/.test(id) ? idTime(id) : null
  if (at === null || at > visit.now) return null
  return {
    title: 'No longer kept',
    status: 404,
    body: (
      <Empty whole title="This mail is not here, or no longer">
        <p>
          Its id says that it was accepted <Time at={new Date(at).toISOString()} exact />. Records of mails
          are kept for as long as <code>retention.emails</code> says, and bodies for{' '}
          <code>retention.bodies</code>; a mail of another account or workspace is not shown at all.
        </p>
        <p>
          <a href={visit.link('/emails')}>To the mails</a>
        </p>
      </Empty>
    ),
  }
}

const view = async (visit: Visit, refused: Refused | null): Promise<View> => {
  const id = visit.params.id ?? ''
  const path = `/v1/emails/${encodeURIComponent(id)}`
  try {
    const [email, events, content] = await Promise.all([
      visit.ask<Email>('GET', path, { query: { content: 'false' } }),
      eventsOf(visit, path),
      askContent(visit, id),
    ])
    const verdict = verdictOf(email, events, visit.now)
    const [suppressed, domain, workspace] = await Promise.all([
      visit.may('addSuppression') ? suppressedOf(visit, email, events) : [],
      tabOf(visit) === 'checks' ? domainCheck(visit, email.from) : null,
      visit.find<{ slug: string }>(`/v1/workspaces/${email.workspace_id}`, { scoped: false }),
    ])
    return {
      title: `${verdict.title} ${subjectOf(email)}`.slice(0, 120),
      ...(refused !== null && { status: refused.problem.status }),
      body: (
        <article class="one-mail">
          <VerdictHead {...{ email, verdict }}>
            <EmailActions {...{ visit, email, suppressed }} hasBody={'raw' in content} />
          </VerdictHead>
          <div class="mail">
            <div>
              <Recipients {...{ visit, email, events }} />
              <MailFacts {...{ visit, email }} workspace={workspace?.slug ?? null} />
            </div>
            <Content {...{ visit, email, events, content, domain }} />
          </div>
        </article>
      ),
    }
  } catch (error) {
    const gone = error instanceof AskError && error.problem.status === 404 ? goneView(visit, id) : null
    if (gone === null) throw error
    return gone
  }
}

export const emailPage: Page = {
  path: '/emails/{id}',
  view,
  does: {
    resend: 'resendEmail',
    unsuppress: 'removeSuppression',
    suppress: 'addSuppression',
    cancel: 'cancelEmail',
    reschedule: 'rescheduleEmail',
    hold: 'placeHold',
    release: 'releaseQueue',
    retry: 'retryQueue',
  },
  actions: EMAIL_ACTIONS,
}
