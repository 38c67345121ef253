/**
 * NAME      links - a link that lets somebody in, shown once
 */
import type { Form } from '../../form.js'
import type { Done } from '../../page.js'
import type { Visit } from '../../visit.js'
import { shownOnce } from '../shown-once.js'
import type { MadeLink } from './record.js'

const shown = (visit: Visit, made: MadeLink, title: string, says: string): Done => ({
  view: shownOnce({
    visit,
    back: ['/settings/people', 'People'],
    title,
    says,
    secrets: [{ label: 'Link, shown once', text: made.url }],
  }),
})

export const invite = async (visit: Visit, form: Form): Promise<Done> => {
  const made = await visit.ask<MadeLink & { readonly email_id: string | null }>('POST', '/v1/invitations', {
    body: { email: form.text('email'), role: form.text('role'), workspace_id: form.text('workspace_id') },
  })
  if (made.email_id !== null)
    return {
      to: visit.link(`/emails/${made.email_id}`, { mode: null }),
      notice: `${made.email} is invited: this is the mail with the link.`,
    }
  const says = 'Copy the link now: it is not shown again. It lets one person in, once, within seven days.'
  return shown(visit, made, `${made.email ?? 'Somebody'} is invited.`, says)
}

export const setupLink = async (visit: Visit, ref: string, name: string): Promise<Done> => {
  const made = await visit.ask<MadeLink>('POST', `/v1/users/${encodeURIComponent(ref)}/setup-link`)
  const says = 'Copy the link now: it is not shown again. It works once, within 30 minutes.'
  return shown(visit, made, `${name} may set another password.`, says)
}
