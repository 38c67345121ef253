/**
 * NAME      left - what became of mail while an address was suppressed
 * DESCRIPTION
 *   Who writes to somebody again may want what did not arrive meanwhile: bounced mails are sent again, held ones are
 *   released, by a job of /v1 with a reason.
 */
import type { Form } from '../../form.js'
import { Verb } from '../../parts/form.js'
import { figure } from '../../parts/text.js'
import type { Done, Visit } from '../../visit.js'
import { chosenWorkspace, within, workspacesOf } from '../access/whose.js'

const KINDS = [
  { kind: 'again', action: 'resend', sought: 'status:bounced', label: 'Send again', were: 'bounced' },
  { kind: 'free', action: 'release', sought: 'is:held', label: 'Release', were: 'held' },
] as const

type Kind = (typeof KINDS)[number]

/** How many there are of each kind. */
export type Left = Readonly<Partial<Record<Kind['kind'], number>>>

const order = (visit: Visit, slug: string, address: string, { action, sought }: Kind, more: object) =>
  visit.ask<{ readonly id: string; readonly matched: number }>('POST', '/v1/emails/bulk', {
    ...within(slug),
    body: { action, q: `to:"${address}" ${sought}`, mode: visit.scope.mode, ...more },
  })

/** Of mail to this address; nothing for who may not act on it. */
export const leftOf = async (visit: Visit, slug: string, address: string | null): Promise<Left> => {
  if (address === null || !address.includes('@') || !visit.may('liftHold')) return {}
  const found = KINDS.map(async (kind) => {
    const looking = order(visit, slug, address, kind, { reason: 'looking', dry_run: true })
    return [kind.kind, await looking.then(({ matched }) => matched).catch(() => 0)] as const
  })
  return Object.fromEntries(await Promise.all(found))
}

export const LeftVerbs = ({ address, left }: { readonly address: string; readonly left: Left }) => (
  <div class="actions">
    {KINDS.filter(({ kind }) => (left[kind] ?? 0) > 0).map(({ kind, label, were }) => (
      <Verb
        action={kind}
        label={`${label}: ${figure(left[kind] ?? 0)} ${were}`}
        does={label}
        about={{ address }}
      >
        Mails to <bdi>{address}</bdi> that {kind === 'again' ? 'bounced are sent again' : 'are held go on'}.
      </Verb>
    ))}
  </div>
)

const acting =
  (kind: Kind) =>
  async (visit: Visit, form: Form): Promise<Done> => {
    const slug = chosenWorkspace(visit, await workspacesOf(visit))
    const { id } = await order(visit, slug, form.raw('address'), kind, { reason: form.text('reason') })
    return { to: visit.link(`/jobs/${id}`), notice: 'It goes on by itself; this page may be closed.' }
  }

export const leftActions: Readonly<Record<string, (visit: Visit, form: Form) => Promise<Done>>> =
  Object.fromEntries(KINDS.map((kind) => [kind.kind, acting(kind)]))
