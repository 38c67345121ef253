/**
 * NAME      email - one mail, and what may be done with it
 *   A sentence that says what became of it, each recipient with its timeline, the facts, and what was written. Three
 *   requests make the page, and some more only for mails of many events or with addresses that may be suppressed. The
 *   buttons are those that the state of the mail and the role of the reader allow, each with what follows in words.
 */
import type { ComponentChildren } from 'preact'
import { idTime } from '../../../base/id.js'
import { extrasOf } from '../../../lifecycle/extras.js'
import type { MailEvent } from '../../../record/event.js'
import { partsOfWaiting } from '../../../record/queue.js'
import { AskError, mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import { askContent } from '../../mail/content.js'
import { type Email, type MailVerdict, subjectOf, verdictOf } from '../../mail/verdict.js'
import { Check, Field, Verb } from '../../parts/form.js'
import { ButtonLink, Code, Crumb, Empty, Facts, Section } from '../../parts/page-parts.js'
import { Icon } from '../../parts/status.js'
import type { ListPage } from '../../parts/table.js'
import { Address, Said, Time } from '../../parts/text.js'
import { does, type FormDone, type RefusedForm, type SitePage, type View, type Visit } from '../../visit.js'
import { actLink } from '../queue/holds.js'
import { Content, domainCheck, tabOf } from './content.js'
import { Recipients } from './recipients.js'

interface Suppressed {
  readonly address: string
  /** True while the address is on the list of the workspace or the account. */
  readonly is: boolean
}

interface Props {
  readonly visit: Visit
  readonly email: Email
  readonly hasBody: boolean
  readonly suppressed: readonly Suppressed[]
}

const mailPath = (visit: Visit): string => `/v1/emails/${encodeURIComponent(visit.params.id ?? '')}`

const isFinal = (status: string): boolean => ['sent', 'delivered', 'bounced', 'canceled'].includes(status)

const short = (address: string): string => (address.length > 28 ? `${address.slice(0, 26)}…` : address)

const SendAgain = ({ visit, email }: Props) => {
  const bounced = email.recipients.filter(({ status }) => status === 'bounced').map(({ address }) => address)
  const all = email.recipients.map(({ address }) => address)
  const to = bounced.length > 0 ? bounced : all
  return (
    <Verb action="resend" label="Send again" reason="none">
      <p>A new mail of the same content, with an id of its own. To other addresses, if you change them.</p>
      <Field
        name="to"
        label="To"
        hint="One a line"
        rows={Math.min(6, Math.max(2, to.length))}
        value={to.slice(0, 100).join('\n')}
        required
      />
      {email.mode === 'test' && !visit.isDev ? (
        <Check
          name="release"
          label={
            <>
              For real: as live mail, to addresses of <code>identity.release_to</code> only
            </>
          }
        />
      ) : null}
    </Verb>
  )
}

const Scheduled = ({ email }: Props) => (
  <>
    <Verb action="reschedule" label="Send at another time" does="Change" reason="none">
      <p>At most 30 days ahead.</p>
      <Field
        name="scheduled_at"
        label="When (RFC 3339, or such as “in 2 hours”)"
        value={email.scheduled_at}
        required
      />
    </Verb>
    <Verb action="cancel" label="Cancel" does="Cancel this mail" reason="none" harm>
      <p>It is never sent. Nobody is told.</p>
    </Verb>
  </>
)

/** Null where the mail is held by itself, and a button of its own lets it go. */
const widerHold = (visit: Visit, { waiting }: Email): string | null => {
  const remedy = partsOfWaiting(waiting?.detail ?? '').remedy
  if (remedy === null || remedy.includes(' --email ')) return null
  const of = (flag: string) => new RegExp(` --${flag} (\\S+)`).exec(remedy)?.[1]
  const [workspace_id, egress_pool_id, domain] = [of('workspace'), of('pool'), of('domain')]
  return actLink(visit, 'release', {
    ...(workspace_id && { workspace_id }),
    ...(egress_pool_id && { egress_pool_id }),
    ...(domain && { domain }),
  })
}

const Waits = ({ visit, email }: Props) => {
  const wider = email.waiting?.reason === 'held' ? widerHold(visit, email) : null
  if (wider !== null) return <ButtonLink to={wider}>Release all that this holds…</ButtonLink>
  return email.waiting?.reason === 'held' ? (
    <Verb action="release" label="Release" reason="optional">
      <p>What holds exactly this mail is lifted, and it goes on. A hold of its workspace or pool stays.</p>
    </Verb>
  ) : (
    <>
      <Verb action="retry" label="Try now" reason="none">
        <p>What would be tried later is tried at once.</p>
      </Verb>
      <Verb action="hold" label="Hold">
        <p>The recipients that have not got it yet wait until somebody releases it.</p>
      </Verb>
    </>
  )
}

interface ListProps {
  readonly addresses: readonly Suppressed[]
}

const Which = ({ addresses }: ListProps) => {
  if (addresses.length < 2) return null
  return (
    <div class="checks">
      {addresses.map(({ address }) => (
        <Check name="address" value={address} on label={<bdi>{address}</bdi>} />
      ))}
    </div>
  )
}

const named = ([first, ...more]: readonly Suppressed[]): string =>
  more.length === 0 ? short(first?.address ?? '') : `${more.length + 1} addresses`

const aboutOf = ([first, ...more]: readonly Suppressed[]) =>
  first !== undefined && more.length === 0 ? { about: { address: first.address } } : {}

const OffTheList = ({ addresses, hasBody }: ListProps & { readonly hasBody: boolean }) =>
  addresses.length === 0 ? null : (
    <Verb
      action="unsuppress"
      label={`Take ${named(addresses)} off the suppression list`}
      does="Take off the list"
      {...aboutOf(addresses)}
    >
      <p>New mail is sent to it again. A hard bounce puts it back.</p>
      <Which addresses={addresses} />
      {hasBody ? <Check name="again" on label="And send it this mail" /> : null}
    </Verb>
  )

const OnTheList = ({ addresses }: ListProps) =>
  addresses.length === 0 ? null : (
    <Verb action="suppress" label={`Suppress ${named(addresses)}`} does="Suppress" {...aboutOf(addresses)}>
      <p>No mail of this workspace goes there until somebody lifts it.</p>
      <Which addresses={addresses} />
    </Verb>
  )

const EmailActions = (props: Props) => {
  const { visit, email, suppressed, hasBody } = props
  if (!visit.may('resendEmail')) return null
  const waits = email.recipients.some(({ status }) => status === 'queued' || status === 'deferred')
  return (
    <div class="actions noprint">
      {hasBody && isFinal(email.status) && email.source !== 'system' ? <SendAgain {...props} /> : null}
      {email.status === 'scheduled' ? <Scheduled {...props} /> : null}
      {waits ? <Waits {...props} /> : null}
      <OffTheList addresses={suppressed.filter(({ is }) => is)} hasBody={hasBody} />
      <OnTheList addresses={suppressed.filter(({ is }) => !is)} />
    </div>
  )
}

const workspaceOf = async (visit: Visit) => {
  const email = await visit.ask<Email>('GET', mailPath(visit), { query: { content: 'false' } })
  return { 'x-workspace-id': email.workspace_id }
}

const resend = async (visit: Visit, form: Form): Promise<FormDone> => {
  const to = form.list('to')
  if (to.length === 0) throw mistake('to', 'Somebody must get it.')
  const body = { to, ...(form.has('release') && { release: true }) }
  const made = await visit.ask<Email>('POST', `${mailPath(visit)}/resend`, { body })
  return { to: visit.link(`/emails/${made.id}`), notice: 'Sent again: this is the new mail.' }
}

const here = (visit: Visit, notice: string): FormDone => ({
  to: visit.link(`/emails/${visit.params.id ?? ''}`),
  notice,
})

const ordered =
  (path: string, notice: (changed: number) => string) =>
  async (visit: Visit, form: Form): Promise<FormDone> => {
    const reason = form.text('reason')
    const body = { scope: { email_id: visit.params.id }, ...(reason !== null && { reason }) }
    const { changed } = await visit.ask<{ changed: number }>('POST', path, { body, scoped: false })
    return here(visit, notice(changed))
  }

const chosen = (form: Form): readonly string[] => {
  const addresses = form.all('address')
  if (addresses.length === 0) throw mistake('address', 'Tick at least one address.')
  return addresses
}

const nameThem = (addresses: readonly string[]): string =>
  addresses.length === 1 ? `${addresses[0]} is` : `${addresses.length} addresses are`

const unsuppress = async (visit: Visit, form: Form): Promise<FormDone> => {
  const addresses = chosen(form)
  const headers = await workspaceOf(visit)
  const body = { reason: form.text('reason') }
  for (const address of addresses)
    await visit.ask('DELETE', `/v1/suppressions/${encodeURIComponent(address)}`, { headers, body })
  const said = `${nameThem(addresses)} off the suppression list`
  if (!form.has('again')) return here(visit, `${said}.`)
  const made = await visit.ask<Email>('POST', `${mailPath(visit)}/resend`, { body: { to: addresses } })
  return { to: visit.link(`/emails/${made.id}`), notice: `${said}; this is the mail that goes there now.` }
}

const EMAIL_ACTIONS: NonNullable<SitePage['actions']> = {
  resend: does('resendEmail', resend),
  unsuppress: does('removeSuppression', unsuppress),
  suppress: does('addSuppression', async (visit, form) => {
    const addresses = chosen(form)
    const headers = await workspaceOf(visit)
    for (const email of addresses)
      await visit.ask('POST', '/v1/suppressions', { body: { email, reason: form.text('reason') }, headers })
    return here(visit, `${nameThem(addresses)} on the suppression list now.`)
  }),
  cancel: does('cancelEmail', async (visit) => {
    await visit.ask('POST', `${mailPath(visit)}/cancel`)
    return here(visit, 'Canceled.')
  }),
  reschedule: does('rescheduleEmail', async (visit, form) => {
    await visit.ask('PATCH', mailPath(visit), { body: { scheduled_at: form.text('scheduled_at') } })
    return here(visit, 'It leaves at the new time.')
  }),
  hold: does(
    'placeHold',
    ordered('/v1/holds', (n) => (n === 1 ? 'Held: 1 recipient waits.' : `Held: ${n} recipients wait.`)),
  ),
  release: does(
    'releaseQueue',
    ordered('/v1/queue/release', (n) => (n === 1 ? 'Released: 1 recipient.' : `Released: ${n} recipients.`)),
  ),
  retry: does(
    'retryQueue',
    ordered('/v1/queue/retry', () => 'It is tried now.'),
  ),
}

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
            ({ label, text, isMail }) =>
              [label, isMail ? <LinkToMail {...{ visit, id: text }} /> : <bdi>{text}</bdi>] as const,
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
    const list: ListPage<MailEvent> = await visit.ask('GET', `${path}/events`, {
      query: { limit: 100, cursor },
    })
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
  readonly verdict: MailVerdict
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

const view = async (visit: Visit, refused: RefusedForm | null): Promise<View> => {
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

export const emailPage: SitePage = {
  path: '/emails/{id}',
  view,
  actions: EMAIL_ACTIONS,
}
