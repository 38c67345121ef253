/**
 * NAME      bulk - something done to many mails of a list
 * DESCRIPTION
 *   To those that are ticked, one after the other, or to all that the list finds: then the count comes first, and a job
 *   does it. A reason stands with what is changed.
 */

import { type JobMatched, matchedWords } from '../../../record/job.js'
import { AskError, mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import type { Email } from '../../mail/record.js'
import type { Done } from '../../page.js'
import { figure } from '../../parts/figure.js'
import { ActionForm, Choice, Field, Hidden, Leave, Send, useOwnRefusal } from '../../parts/form.js'
import { Head } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { apiQuery, filterOf } from './filter.js'

export const BULK_FORM = 'bulk'

const ACTIONS = [
  ['resend', 'Send again'],
  ['retry', 'Try now'],
  ['release', 'Release'],
  ['cancel', 'Cancel (scheduled only)'],
  ['suppress', 'Suppress the recipients'],
] as const

const WHICH = [
  ['ticked', 'those that are ticked'],
  ['all', 'all that this list finds'],
] as const

const wordsOf = (action: string): string => ACTIONS.find(([one]) => one === action)?.[1] ?? action

/** The ticks of the table belong to this form. */
export const BulkBar = () => (
  <details class="fold noprint" open={useOwnRefusal('bulk') !== null}>
    <summary>Do something to many of them</summary>
    <ActionForm action="bulk" id={BULK_FORM} class="bulk">
      <Choice name="action" label="What" options={ACTIONS} />
      <Choice name="which" label="To" options={WHICH} />
      <Field name="reason" label="Reason" required maxLength={200} />
      <button type="submit" class="b">
        Go on
      </button>
    </ActionForm>
  </details>
)

/** The list's filter as the body of an order. */
const orderOf = (visit: Visit, form: Form, more: Readonly<Record<string, unknown>>) => {
  const said = Object.entries(apiQuery(visit, filterOf(visit))).filter(
    ([, value]) => value != null && value !== '',
  )
  const isAll = said.every(([name]) => name === 'mode')
  return {
    ...Object.fromEntries(said),
    ...(isAll && { all: true }),
    ...{ action: form.raw('action'), reason: form.text('reason') },
    ...more,
  }
}

const suppress = async (visit: Visit, path: string, reason: string | null): Promise<void> => {
  const email = await visit.ask<Email>('GET', path, { query: { content: 'false' } })
  const bounced = email.recipients.filter(({ status }) => status === 'bounced')
  const headers = { 'x-workspace-id': email.workspace_id }
  for (const { address } of bounced.length > 0 ? bounced : email.recipients)
    await visit.ask('POST', '/v1/suppressions', { body: { email: address, reason }, headers })
}

const toOne = async (visit: Visit, form: Form, id: string): Promise<void> => {
  const path = `/v1/emails/${encodeURIComponent(id)}`
  const reason = form.text('reason')
  const action = form.raw('action')
  if (action === 'cancel') await visit.ask('POST', `${path}/cancel`)
  else if (action === 'resend') await visit.ask('POST', `${path}/resend`, { body: { to: null } })
  else if (action === 'suppress') await suppress(visit, path, reason)
  else if (action === 'retry' || action === 'release')
    await visit.ask('POST', `/v1/queue/${action}`, {
      body: { scope: { email_id: id }, reason },
      scoped: false,
    })
}

const toTicked = async (visit: Visit, form: Form): Promise<Done> => {
  const ids = form.all('id').slice(0, 100)
  if (ids.length === 0) throw mistake('which', 'Tick some rows first, or choose all.')
  const failed: string[] = []
  for (const id of ids) {
    try {
      await toOne(visit, form, id)
    } catch (error) {
      if (!(error instanceof AskError)) throw error
      failed.push(`${id}: ${error.message}`)
    }
  }
  const done = `${wordsOf(form.raw('action'))}: ${ids.length - failed.length} of ${ids.length} done.`
  return { to: visit.here({}), notice: [done, ...failed.slice(0, 3)].join(' ') }
}

interface Preview {
  readonly matched: JobMatched
}

/** The count first. */
const confirm = async (visit: Visit, form: Form): Promise<Done> => {
  const { matched } = await visit.ask<Preview>('POST', '/v1/emails/bulk', {
    body: orderOf(visit, form, { dry_run: true }),
  })
  const count = matchedWords(matched, figure)
  const what = wordsOf(form.raw('action'))
  const body = (
    <>
      <Head
        title={matched === 1 ? `${what}: 1 mail?` : `${what}: ${count} mails?`}
        says="What comes later is not met. It can be ended on the way; what is done stays done."
      />
      <ActionForm action="bulk-go">
        <Hidden of={{ action: form.raw('action'), reason: form.raw('reason') }} />
        <Send disabled={matched === 0} beside={<Leave to={visit.here({})}>Back to the list</Leave>}>
          Do it
        </Send>
      </ActionForm>
    </>
  )
  return { view: { title: what, body } }
}

export const BULK_ACTIONS: Readonly<Record<string, (visit: Visit, form: Form) => Promise<Done>>> = {
  bulk: (visit, form) => (form.raw('which') === 'all' ? confirm : toTicked)(visit, form),
  async 'bulk-go'(visit, form) {
    const body = orderOf(visit, form, {})
    const { id } = await visit.ask<{ id: string }>('POST', '/v1/emails/bulk', { body })
    return { to: visit.link(`/jobs/${id}`), notice: 'It goes on by itself; this page may be closed.' }
  },
}
