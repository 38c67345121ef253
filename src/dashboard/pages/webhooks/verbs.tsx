/**
 * NAME      verbs - what can be done with an endpoint
 */
import type { WebhookEvent } from '../../../record/webhook.js'
import { mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import type { Done, Page } from '../../page.js'
import { Choice, Field, FormMarks, type Options, Verb } from '../../parts/form.js'
import { useVisit } from '../../render/context.js'
import type { Visit } from '../../visit.js'
import { type MadeWebhook, secretView } from './edit.js'
import { hostOf, nameOf, type ShownWebhook } from './record.js'

const HOUR_MS = 3_600_000
const FAILED = 'failed'

/** Since when; hours, or those that were given up. */
const SINCE: Options = [
  [FAILED, 'those that were given up'],
  ['1', 'all of the last hour'],
  ['6', 'all of the last 6 hours'],
  ['24', 'all of the last 24 hours'],
  ['72', 'all of the last 3 days'],
  ['168', 'all of the last 7 days'],
]

const GRACE: Options = [
  ['0', 'no time: at once'],
  ['1h', 'hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
]

const FROM: Options = [
  ['', 'from where it stood'],
  ['now', 'from now, and pass over what happened'],
]

const TestButton = () => (
  <form method="post" action={useVisit().here({})}>
    <FormMarks action="test" />
    <button type="submit" class="b main">
      Send a test event
    </button>
  </form>
)

const Replay = () => (
  <Verb
    action="replay"
    label="Replay"
    reason="none"
    does="Post them again"
    beside={
      <button type="submit" class="b" name="how" value="count">
        Only count them
      </button>
    }
  >
    <p>Posts events again, each under the webhook-id that it had.</p>
    <Choice name="since" label="Which" options={SINCE} />
  </Verb>
)

const Rotate = () => (
  <Verb action="rotate" label="Rotate the secret" reason="none" does="Rotate">
    <p>A new secret is shown once. Until the time is over, each post is signed with both.</p>
    <Choice name="grace" label="The one so far signs for another" value="24h" options={GRACE} />
  </Verb>
)

const Enable = ({ behind }: Pick<ShownWebhook, 'behind'>) => (
  <Verb action="enable" label="Switch on" reason="none">
    <p>
      Since it stopped,{' '}
      {behind === null ? 'more than the log still has' : count(behind.events, behind.capped)} events happened.
    </p>
    <Choice name="from" label="Go on" value={behind === null ? 'now' : ''} options={FROM} />
  </Verb>
)

export const Verbs = ({ row }: { readonly row: ShownWebhook }) => {
  const visit = useVisit()
  if (!visit.may('updateWebhook')) return null
  const isOff = row.status === 'disabled'
  return (
    <div class="actions">
      <TestButton />
      {isOff ? <Enable behind={row.behind} /> : <Replay />}
      <Rotate />
      <a class="b" href={visit.link(`/webhooks/${row.id}/edit`)}>
        Change
      </a>
      {isOff ? null : (
        <Verb action="disable" label="Switch off" reason="none" harm>
          <p>
            Nothing is posted to {hostOf(row)} until it is switched on; then it goes on from where it stood,
            or from now.
          </p>
        </Verb>
      )}
      <Verb action="delete" label="Delete" reason="none" harm>
        <p>
          {nameOf(row)} is told nothing more, and what is known of its posts is gone. It cannot be undone.
        </p>
        <Field
          name="confirm"
          label={`Type its host to be sure: ${hostOf(row)}`}
          required
          autocomplete="off"
        />
      </Verb>
    </div>
  )
}

const count = (n: number, isCapped: boolean): string => `${n}${isCapped ? ' or more' : ''}`

const pathOf = (visit: Visit, more = ''): string =>
  `/v1/webhooks/${encodeURIComponent(visit.params.id ?? '')}${more}`

const pageOf = (visit: Visit): string => visit.link(`/webhooks/${visit.params.id ?? ''}`)

const change = async (visit: Visit, body: unknown, notice: string): Promise<Done> => {
  await visit.ask('PATCH', pathOf(visit), { scoped: false, body })
  return { to: pageOf(visit), notice }
}

const test = async (visit: Visit): Promise<Done> => {
  const post = await visit.ask<WebhookEvent>('POST', pathOf(visit, '/test'), { scoped: false, body: {} })
  const { http_status_code: code, duration_ms: ms, cause, status } = post
  const said = code === null ? 'No answer came' : `It answered ${code}`
  const after = ms === null ? '' : ` after ${ms} ms`
  const notice =
    status === 'success'
      ? `The test event arrived. ${said}${after}.`
      : `The test event did not arrive. ${said}${after}${cause === null ? '' : `: ${cause}`}`
  return { to: `${visit.link(`/webhooks/${visit.params.id ?? ''}`, { event: post.id })}`, notice }
}

const hoursAgo = ({ now }: Visit, hours: number) => new Date(now - hours * HOUR_MS).toISOString()

const replay = async (visit: Visit, form: Form): Promise<Done> => {
  const since = form.text('since') ?? FAILED
  const isDry = form.raw('how') === 'count'
  const which =
    since === FAILED
      ? { failed: true }
      : { since: SINCE.some(([one]) => one === since) ? hoursAgo(visit, Number(since)) : since }
  const { matched, capped } = await visit.ask<{ matched: number; capped: boolean }>(
    'POST',
    pathOf(visit, '/replay'),
    { scoped: false, body: { ...which, dry_run: isDry } },
  )
  const many = `${count(matched, capped)} ${matched === 1 ? 'event' : 'events'}`
  return { to: pageOf(visit), notice: isDry ? `${many} would be posted again.` : `${many} are posted again.` }
}

const rotate = async (visit: Visit, form: Form): Promise<Done> => {
  const grace = form.text('grace')
  const made = await visit.ask<MadeWebhook>('POST', pathOf(visit, '/signing-secret/rotate'), {
    scoped: false,
    body: { grace: grace === '0' ? 0 : grace },
  })
  const says =
    grace === '0'
      ? 'Copy it now: it is not shown again, and posts are signed with it alone.'
      : 'Copy it now: it is not shown again. For a while each post is signed with the old one, too.'
  return { view: secretView(visit, made, `The secret of ${hostOf(made)} is a new one.`, says) }
}

export const verbs: NonNullable<Page['actions']> = {
  test,
  replay,
  rotate,
  async again(visit, form) {
    await visit.ask('POST', pathOf(visit, `/events/${encodeURIComponent(form.raw('event'))}/replay`), {
      scoped: false,
      body: {},
    })
    return { to: visit.here({ event: null }), notice: 'It is posted again.' }
  },
  enable: (visit, form) =>
    change(visit, { status: 'enabled', from: form.text('from') ?? undefined }, 'It is on again.'),
  disable: (visit) => change(visit, { status: 'disabled' }, 'It is off: nothing is posted to it.'),
  async delete(visit, form) {
    const row = await visit.ask<ShownWebhook>('GET', pathOf(visit), { scoped: false })
    if (form.text('confirm') !== hostOf(row)) throw mistake('confirm', `must be the host: ${hostOf(row)}`)
    await visit.ask('DELETE', pathOf(visit), { scoped: false })
    return { to: visit.link('/webhooks'), notice: `${nameOf(row)} is deleted.` }
  },
}
