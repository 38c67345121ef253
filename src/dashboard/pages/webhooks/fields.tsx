/**
 * NAME      fields - the form of an endpoint, new or changed
 */

import { CHANGE_TYPES } from '../../../mail/event-type.js'
import { readTag, tagText } from '../../../mail/query/tag.js'
import type { Webhook } from '../../../record/webhook.js'
import type { Form } from '../../form.js'
import { Check, Choice, Field } from '../../parts/form.js'

const GROUPS: readonly (readonly [title: string, types: readonly string[]])[] = [
  ['Of each mail', CHANGE_TYPES.filter((type) => type.startsWith('email.'))],
  ['Of other things', CHANGE_TYPES.filter((type) => !type.startsWith('email.'))],
]

/** What somebody wants to know who does not say more. */
const USUAL = ['email.delivered', 'email.bounced', 'email.complained']

const headerOf = (line: string): readonly [name: string, value: string] => {
  const at = line.indexOf(':')
  return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}

const tagOf = (line: string) => {
  const { name, value } = readTag(line)
  return { name: name.trim(), value: value?.trim() ?? null }
}

const linesOf = (form: Form, name: string): readonly string[] =>
  form
    .raw(name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** As /v1 takes it; headers only where some were typed, since they take the place of all that were. */
export const bodyOf = (form: Form) => {
  const headers = linesOf(form, 'headers')
  return {
    endpoint: form.text('endpoint') ?? '',
    events: form.all('events'),
    domains: form.list('domains'),
    tags: linesOf(form, 'tags').map(tagOf),
    ...((headers.length > 0 || form.has('no_headers')) && {
      headers: Object.fromEntries(headers.map(headerOf)),
    }),
    fields: form.text('fields'),
    max_in_flight: form.number('max_in_flight'),
    rate: form.number('rate'),
  }
}

interface FieldsProps {
  readonly row: Webhook | null
}

const EventChecks = ({ row }: FieldsProps) => {
  const chosen: readonly string[] = row?.events ?? USUAL
  const check = (type: string, label = type) => (
    <Check name="events" value={type} label={label} on={chosen.includes(type)} />
  )
  return (
    <>
      {check('*', 'Everything, also what is yet to come')}
      {GROUPS.map(([title, types]) => (
        <fieldset>
          <legend>{title}</legend>
          <div class="checks">{types.map((type) => check(type))}</div>
        </fieldset>
      ))}
    </>
  )
}

const Filters = ({ row }: FieldsProps) => (
  <>
    <Field
      name="domains"
      label="Only mail from these domains"
      rows={2}
      value={row?.domains.join('\n')}
      hint="One a line. Empty: of all."
    />
    <Field
      name="tags"
      label="Only mail with one of these tags"
      rows={2}
      value={row?.tags.map(tagText).join('\n')}
      hint="A name, or name:value, one a line."
    />
  </>
)

const Headers = ({ row }: FieldsProps) => {
  const names = row?.header_names ?? []
  return (
    <>
      <Field
        name="headers"
        label="Header fields to send along"
        rows={2}
        placeholder="Authorization: Bearer …"
        autocomplete="off"
        hint={
          names.length === 0
            ? 'Such as a token: one “Name: value” a line. Kept sealed, never shown again.'
            : `Kept now: ${names.join(', ')}. Their values are not shown; what stands here takes the place of all of them.`
        }
      />
      {names.length === 0 ? null : <Check name="no_headers" label="Forget the header fields that are kept" />}
    </>
  )
}

export const EndpointFields = (props: FieldsProps) => {
  const { row } = props
  return (
    <>
      <Field
        name="endpoint"
        label="Address"
        type="url"
        required
        maxLength={2048}
        placeholder="https://crm.example/hooks/mail"
        value={row?.endpoint}
        hint="https, on a public address; redirects are not followed."
      />
      <EventChecks {...props} />
      <Filters {...props} />
      <Headers {...props} />
      <Choice
        name="fields"
        label="What is posted"
        value={row?.fields ?? 'full'}
        options={[
          ['full', 'All fields'],
          ['thin', 'Without subject, addresses, tags and answers of servers'],
        ]}
      />
      <div class="form-row">
        <Field
          name="max_in_flight"
          label="Posts at the same time"
          type="number"
          value={row?.max_in_flight ?? 8}
          hint="1 keeps the order, and a failing post holds up the others."
        />
        <Field name="rate" label="Replayed posts a second" type="number" value={row?.rate ?? 50} />
      </div>
    </>
  )
}
