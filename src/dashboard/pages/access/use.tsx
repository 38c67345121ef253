/**
 * NAME      use - when a key or login was last used, and the end of it
 */
import type { ComponentChildren } from 'preact'
import { Verb } from '../../parts/form.js'
import { Time } from '../../parts/time.js'
import { html } from '../../render/markup.js'
import type { Visit } from '../../visit.js'

interface Used {
  readonly created_at: string
  readonly last_used_at: string | null
  readonly last_used_from: string | null
}

const LONG_MS = 90 * 86_400_000

/** Whether nobody has used it for so long that it may be forgotten. */
export const unusedSince = ({ created_at, last_used_at }: Used, now: number): boolean =>
  now - Date.parse(last_used_at ?? created_at) >= LONG_MS

export const LastUse = ({ visit, row }: { readonly visit: Visit; readonly row: Used & { id: string } }) => {
  const time = Time({ at: row.last_used_at })
  const mails = visit.link('/emails', { q: `key:${row.id}` })
  const history = visit.link('/settings/audit', { target: row.id })
  return html`${unusedSince(row, visit.now) ? html`<span class="st wait">${time}</span>` : time}${
    row.last_used_from !== null && html`<span class="sub">from ${row.last_used_from}</span>`
  }<span class="sub">${row.last_used_at !== null && html`<a href="${mails}">its mails</a>`} ${
    visit.may('listAudit') && html`<a href="${history}">its history</a>`
  }</span>`
}

interface RevokeProps {
  readonly row: Used & { readonly id: string }
  readonly name: string
  /** In a sentence. */
  readonly follows: ComponentChildren
  /** Paragraphs. */
  readonly children?: ComponentChildren
}

export const RevokeVerb = ({ row, name, follows, children }: RevokeProps) => {
  const at = row.last_used_at
  const used = at === null ? 'Never used. ' : html`Last used ${Time({ at })}. `
  return Verb({
    ...{ action: 'revoke', label: 'Revoke', reason: 'optional', harm: true, tiny: true },
    about: { id: row.id, name },
    children: html`<p>${used}${follows}</p>${children}<p>It cannot be undone.</p>`,
  })
}
