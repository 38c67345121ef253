/**
 * NAME      actions - what may be done with a mail
 * DESCRIPTION
 *   Buttons that the state of the mail and the role of the reader allow, each with what follows in words, and what they
 *   post. After one the reader stands at what it made.
 */
import { partsOfWaiting } from '../../../record/queue.js'
import { mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import type { Email } from '../../mail/verdict.js'
import type { Done } from '../../page.js'
import { Check, Field, Verb } from '../../parts/form.js'
import { ButtonLink } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { actLink } from '../queue/holds.js'

export interface Suppressed {
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

/** What a form of one address says of itself. */
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

export const EmailActions = (props: Props) => {
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

const resend = async (visit: Visit, form: Form): Promise<Done> => {
  const to = form.list('to')
  if (to.length === 0) throw mistake('to', 'Somebody must get it.')
  const body = { to, ...(form.has('release') && { release: true }) }
  const made = await visit.ask<Email>('POST', `${mailPath(visit)}/resend`, { body })
  return { to: visit.link(`/emails/${made.id}`), notice: 'Sent again: this is the new mail.' }
}

const here = (visit: Visit, notice: string): Done => ({
  to: visit.link(`/emails/${visit.params.id ?? ''}`),
  notice,
})

const ordered =
  (path: string, notice: (changed: number) => string) =>
  async (visit: Visit, form: Form): Promise<Done> => {
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

const unsuppress = async (visit: Visit, form: Form): Promise<Done> => {
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

export const EMAIL_ACTIONS: Readonly<Record<string, (visit: Visit, form: Form) => Promise<Done>>> = {
  resend,
  unsuppress,
  async suppress(visit, form) {
    const addresses = chosen(form)
    const headers = await workspaceOf(visit)
    for (const email of addresses)
      await visit.ask('POST', '/v1/suppressions', { body: { email, reason: form.text('reason') }, headers })
    return here(visit, `${nameThem(addresses)} on the suppression list now.`)
  },
  async cancel(visit) {
    await visit.ask('POST', `${mailPath(visit)}/cancel`)
    return here(visit, 'Canceled.')
  },
  async reschedule(visit, form) {
    await visit.ask('PATCH', mailPath(visit), { body: { scheduled_at: form.text('scheduled_at') } })
    return here(visit, 'It leaves at the new time.')
  },
  hold: ordered('/v1/holds', (n) => (n === 1 ? 'Held: 1 recipient waits.' : `Held: ${n} recipients wait.`)),
  release: ordered('/v1/queue/release', (n) =>
    n === 1 ? 'Released: 1 recipient.' : `Released: ${n} recipients.`,
  ),
  retry: ordered('/v1/queue/retry', () => 'It is tried now.'),
}
