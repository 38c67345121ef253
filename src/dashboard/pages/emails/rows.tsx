/**
 * NAME      rows - mails, one line each
 * DESCRIPTION
 *   Status, to whom, subject, and how it ended: of what bounced or is deferred what it means, then the reply; of what
 *   waits why. The whole row is the link of its subject, and no column is wider than that one.
 */
import type { ComponentChildren } from 'preact'
import { briefReason, briefWaiting, type EmailRow, sinceAccepted, subjectOf } from '../../mail/verdict.js'
import { Status } from '../../parts/status.js'
import { isolate, Said, Time } from '../../parts/text.js'
import { attrs, html } from '../../render.js'
import type { Visit } from '../../visit.js'

const countsOf = ({ counts }: EmailRow): string =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => `${n} ${status}`)
    .join(', ')

const total = ({ counts }: EmailRow): number => Object.values(counts).reduce((sum, n) => sum + n, 0)

/** Without the address, which the row has already. */
const replyIn = (text: string | null | undefined): string | null =>
  text == null ? null : isolate(text.replace(/<[^<>\s]*@[^<>\s]*>:?\s*/, '').slice(0, 300))

const outcomeOf = (row: EmailRow): string => {
  const { status, waiting } = row
  const many = total(row) > 1 ? `${countsOf(row)} · ` : ''
  if (status === 'bounced' || status === 'deferred') {
    const more = waiting !== null && waiting.reason !== 'backoff' ? isolate(briefWaiting(waiting)) : null
    const why = [briefReason(row.reason), replyIn(row.last_response), more].filter((one) => one != null)
    return `${many}${why.join(' · ')}`
  }
  if (waiting !== null) return `${many}${isolate(briefWaiting(waiting))}`
  if (many !== '') return countsOf(row)
  return status === 'delivered' || status === 'sent' ? `in ${sinceAccepted(row, row.updated_at)}` : ''
}

const toneOf = ({ status, waiting }: EmailRow): string | undefined => {
  if (status === 'bounced') return 'bad'
  return status === 'deferred' || (waiting !== null && waiting.reason !== 'scheduled') ? 'wait' : undefined
}

interface Props {
  readonly visit: Visit
  readonly rows: readonly EmailRow[]
  /** By id; null when only one is shown. */
  readonly workspaces: ReadonlyMap<string, string> | null
  /** The form that its ticks belong to; null without. */
  readonly form: string | null
}

const To = ({ row }: { readonly row: EmailRow }) => {
  const [first = row.cc[0] ?? row.bcc[0] ?? ''] = row.to
  const others = total(row) - 1
  const more = others > 0 ? html`<span class="more nb">+ ${others}</span>` : null
  return html`<span class="pair" title="${row.to.join(', ').slice(0, 1_000)}"><span class="one" dir="auto">${first}</span>${more}</span>`
}

const Tick = ({ row, form }: { readonly row: EmailRow; readonly form: string | null }) =>
  form === null
    ? null
    : html`<td role="cell" class="tick"><input type="checkbox" name="id" value="${row.id}" form="${form}" aria-label="Choose ${subjectOf(row)}"/></td>`

const Tag = ({ row: { tags } }: { readonly row: EmailRow }) => {
  const [tag] = tags
  return tag && html`<span class="tag" dir="auto" title="${tag.name}:${tag.value}">${tag.value}</span>`
}

const Row = ({ visit, row, workspaces, form }: Omit<Props, 'rows'> & { readonly row: EmailRow }) => {
  const outcome = outcomeOf(row)
  const subject = subjectOf(row)
  const to = visit.link(`/emails/${row.id}`)
  const cell = (name: string, content: ComponentChildren) =>
    html`<td role="cell" class="${name}">${content}</td>`
  const cells = [
    Tick({ row, form }),
    cell('c-st', Status(row)),
    cell('c-to', To({ row })),
    cell('c-subj', html`<a class="one" dir="auto" title="${subject}" href="${to}">${subject}</a>`),
    html`<td role="cell" class="c-out" title="${outcome}"><span class="one">${Said({ text: outcome })}</span></td>`,
    cell('c-tag', Tag({ row })),
    workspaces &&
      cell(
        'c-ws',
        html`<span class="one" dir="auto">${workspaces.get(row.workspace_id) ?? row.workspace_id}</span>`,
      ),
    cell('c-when', Time({ at: row.created_at })),
  ]
  return html`<tr role="row" id="${row.id}"${attrs({ class: toneOf(row) })}>${cells}</tr>`
}

const HEADS = [
  ['c-st', 'Status'],
  ['c-to', 'To'],
  ['c-subj', 'Subject'],
  ['c-out', 'Outcome'],
  ['c-tag', 'Tag'],
  ['c-ws', 'Workspace'],
  ['c-when', 'Accepted'],
] as const

export const Mails = (props: Props) => (
  <table class="t mails" role="table" id="mails" aria-label="Emails, newest first">
    <thead role="rowgroup">
      <tr role="row">
        {props.form === null ? null : (
          <th role="columnheader" scope="col" class="tick">
            <span class="hid">Chosen</span>
          </th>
        )}
        {HEADS.map(([name, head]) =>
          name === 'c-ws' && props.workspaces === null ? null : (
            <th role="columnheader" scope="col" class={name}>
              {head}
            </th>
          ),
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">{props.rows.map((row) => Row({ ...props, row }))}</tbody>
  </table>
)
