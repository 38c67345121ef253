/**
 * NAME      form - forms that work without a script
 * DESCRIPTION
 *   Each form posts to the path of its page and says which of the page's actions it means. When /v1 refuses, the same
 *   form comes back with what was typed, and each mistake stands beside its field.
 */
import type { ComponentChildren } from 'preact'
import type { Refused } from '../page.js'
import type { Visit } from '../visit.js'

interface FormProps {
  readonly visit: Visit
  readonly action: string
  readonly refused?: Refused | null | undefined
  readonly children: ComponentChildren
  readonly class?: string
}

/** The mistakes that no field of the form shows. */
const rest = (refused: Refused): readonly string[] => {
  const { problem, form } = refused
  const unseen = (problem.errors ?? []).filter(({ field }) => !form.has(field.replace(/^\w+\./, '')))
  if (problem.errors?.length && unseen.length === 0) return []
  if (unseen.length > 0) return unseen.map(({ message }) => message)
  return [problem.detail ?? problem.title]
}

/** Why the form was not taken; nothing where it was not this one. */
export const FormProblem = ({
  refused,
  action,
}: {
  readonly refused?: Refused | null | undefined
  readonly action: string
}) => {
  if (!refused || refused.action !== action) return null
  const said = rest(refused)
  return said.length === 0 ? null : (
    <div class="note bad" role="alert">
      {said.map((line) => (
        <p>{line}</p>
      ))}
    </div>
  )
}

/** What makes a form ours: its action and the token of the session. */
export const FormMarks = ({ visit, action }: { readonly visit: Visit; readonly action: string }) => (
  <>
    <input type="hidden" name="_form" value={visit.formToken} />
    <input type="hidden" name="_action" value={action} />
  </>
)

export const ActionForm = ({ visit, action, refused, children, class: name = 'form' }: FormProps) => (
  <form method="post" action={visit.here({})} class={name}>
    <FormMarks visit={visit} action={action} />
    <FormProblem refused={refused} action={action} />
    {children}
  </form>
)

/** Below the fields; `plain` where the page has something more important to do. */
export const Send = ({
  children,
  plain = false,
}: {
  readonly children: string
  readonly plain?: boolean
}) => (
  <div class="actions">
    <button type="submit" class={plain ? 'b' : 'b main'}>
      {children}
    </button>
  </div>
)

interface FieldProps {
  /** As /v1 names it, so that its mistakes find it. */
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly type?: string
  readonly value?: string | number | null | undefined
  readonly required?: boolean
  readonly maxLength?: number
  readonly placeholder?: string
  readonly autocomplete?: string
  /** More than one makes a text area. */
  readonly rows?: number
  readonly refused?: Refused | null | undefined
  /** Of the form that it stands in; only its own refusal is shown. */
  readonly action?: string
}

const mistakeOf = (name: string, refused: Refused | null | undefined): string | null =>
  refused?.problem.errors?.find(({ field }) => field.replace(/^\w+\./, '') === name)?.message ?? null

/** What was typed when the form was refused, else the value that there is. */
const typed = (name: string, value: string, refused: Refused | null | undefined): string =>
  refused?.form.has(name) ? refused.form.raw(name) : value

const own = (refused: Refused | null | undefined, action: string | undefined) =>
  refused && (action === undefined || refused.action === action) ? refused : null

/** Of a field with a mistake, so that who hears the page hears it there. */
const saidBy = (id: string) => ({ 'aria-invalid': true, 'aria-describedby': `${id}-wrong` })

const Wrong = ({ id, says }: { readonly id: string; readonly says: string | null }) =>
  says === null ? null : (
    <span class="wrong" id={`${id}-wrong`}>
      {says}
    </span>
  )

export const Field = (props: FieldProps) => {
  const { name, label, hint, type = 'text', rows, required, maxLength, placeholder, autocomplete } = props
  const refused = own(props.refused, props.action)
  const wrong = mistakeOf(name, refused)
  const value = type === 'password' ? '' : typed(name, String(props.value ?? ''), refused)
  const id = `${props.action ?? 'f'}-${name}`
  const said = wrong === null ? {} : saidBy(id)
  const common = { id, name, required, maxLength, placeholder, autocomplete, ...said }
  return (
    <label for={id}>
      {label}
      {rows === undefined ? (
        <input type={type} value={value} {...common} />
      ) : (
        <textarea rows={rows} {...common}>
          {value}
        </textarea>
      )}
      <Wrong id={id} says={wrong} />
      {hint === undefined ? null : <span class="hint">{hint}</span>}
    </label>
  )
}

interface ChoiceProps extends Pick<FieldProps, 'name' | 'label' | 'hint' | 'value' | 'refused' | 'action'> {
  readonly options: readonly (readonly [value: string, label: string])[]
}

export const Choice = ({ name, label, hint, options, value, refused, action }: ChoiceProps) => {
  const mine = own(refused, action)
  const chosen = typed(name, String(value ?? ''), mine)
  const wrong = mistakeOf(name, mine)
  const id = `${action ?? 'f'}-${name}`
  return (
    <label for={id}>
      {label}
      <select id={id} name={name} {...(wrong !== null && saidBy(id))}>
        {options.map(([one, text]) => (
          <option value={one} selected={one === chosen}>
            {text}
          </option>
        ))}
      </select>
      <Wrong id={id} says={wrong} />
      {hint === undefined ? null : <span class="hint">{hint}</span>}
    </label>
  )
}

interface VerbProps {
  readonly visit: Visit
  readonly action: string
  /** On the button that opens it. */
  readonly label: string
  /** What follows, in a sentence. */
  readonly children: ComponentChildren
  /** On the button that does it; the label where it is not said. */
  readonly does?: string
  readonly harm?: boolean
  readonly reason?: 'required' | 'optional' | 'none'
  readonly refused?: Refused | null | undefined
  /** Hidden fields: what it is about. */
  readonly about?: Readonly<Record<string, string>>
  readonly tiny?: boolean
}

/** A button that says what will happen, and asks for a reason, before it acts. */
export const Verb = (props: VerbProps) => {
  const {
    visit,
    action,
    label,
    children,
    does = label,
    harm = false,
    reason = 'required',
    about = {},
  } = props
  const same = Object.entries(about).every(([name, value]) => props.refused?.form.raw(name) === value)
  const refused = same ? own(props.refused, action) : null
  const look = `b${harm ? ' harm' : ''}${props.tiny ? ' tiny' : ''}`
  return (
    <details class="verb" name="verb" open={refused !== null}>
      <summary class={look}>{label}</summary>
      <ActionForm visit={visit} action={action} refused={refused}>
        {Object.entries(about).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <div>{children}</div>
        {reason === 'none' ? null : (
          <Field
            name="reason"
            label="Reason"
            hint="Stands in the audit."
            required={reason === 'required'}
            maxLength={200}
            refused={refused}
            action={action}
          />
        )}
        <div class="actions">
          <button type="submit" class={harm ? 'b harm' : 'b main'}>
            {does}
          </button>
        </div>
      </ActionForm>
    </details>
  )
}
