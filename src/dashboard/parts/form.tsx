/**
 * NAME      form - forms and filters that work without a script
 *   Each form posts to the path of its page and says which of the page's actions it means. When /v1 refuses, the same
 *   form comes back with what was typed, and each mistake stands beside its field. Filters narrow a list and stand in
 *   its address.
 */
import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Form } from '../form.js'
import { attrs, html, isText, useShown, useVisit } from '../render.js'
import type { RefusedForm } from '../visit.js'
import { ButtonLink } from './page-parts.js'

/**
 * The field that a mistake stands beside: `body.alarms.complaints.rate` that of `complaints_rate`, and
 * `body.domains[0]` that of `domains`; null where the form has none of them.
 */
const fieldOf = (path: string, form: Form): string | null => {
  const names = path
    .replace(/\[(\d+|"[^"]*")\]/g, '')
    .split('.')
    .slice(1)
  const ends = names.map((_, at) => names.slice(at).join('_'))
  return [...ends, ...names.toReversed()].find((name) => form.has(name)) ?? null
}

interface Mistake {
  readonly field: string
  readonly message: string
}

const mistakesOf = ({ problem }: RefusedForm): readonly Mistake[] =>
  problem.errors?.length ? problem.errors : [{ field: '', message: problem.detail ?? problem.title }]

/** Why a form was not taken that is gone meanwhile, and what was typed as a reason. */
export const Untold = ({ refused }: { readonly refused: RefusedForm }) => {
  const reason = refused.form.text('reason')
  return (
    <div class="note bad" role="alert">
      {mistakesOf(refused).map(({ message }) => (
        <p>{message}</p>
      ))}
      {reason === null ? null : <p>You wrote: {reason}</p>}
    </div>
  )
}

export const FormMarks = ({ action }: { readonly action: string }) =>
  Hidden({ of: { _form: useVisit().formToken, _action: action } })

interface OwnForm {
  readonly action: string
  /** What its fields begin with, by their names. */
  readonly of?: object | null
  /** What its ids begin with, where a page has several of this action; the action where it is not said. */
  readonly idsAs?: string
  /** Its own refusal; null while it was not refused. */
  readonly refused: RefusedForm | null
}

interface FieldsForm extends OwnForm {
  /** The mistakes that no field has shown so far: each field takes its own away. */
  readonly unseen: Set<Mistake>
}

const FormContext = createContext<FieldsForm>({ action: 'f', refused: null, unseen: new Set() })

/** Stands below the fields, so that it knows what none of them has shown; the style puts it above them. */
const Unseen = () => {
  const { unseen } = useContext(FormContext)
  return unseen.size === 0 ? null : (
    <div class="note bad unseen" role="alert">
      {[...unseen].map(({ message }) => (
        <p>{message}</p>
      ))}
    </div>
  )
}

interface FormProps extends Pick<OwnForm, 'action' | 'of'> {
  readonly children: ComponentChildren
  readonly class?: string
  readonly id?: string
}

const PostForm = ({ children, class: name = 'form', id, ...own }: FormProps & OwnForm) => {
  const { visit, onTold } = useShown()
  const unseen = new Set(own.refused === null ? [] : mistakesOf(own.refused))
  if (own.refused !== null) onTold()
  const marks = FormMarks(own)
  // what is text by now asks for no form
  const fields =
    own.refused === null && isText(children) ? (
      children
    ) : (
      <FormContext.Provider value={{ ...own, unseen }}>
        {children}
        <Unseen />
      </FormContext.Provider>
    )
  return html`<form method="post" action="${visit.self}"${attrs({ id })} class="${name}">${marks}${fields}</form>`
}

export const useOwnRefusal = (action: string): RefusedForm | null => {
  const { refused } = useShown()
  return refused?.action === action ? refused : null
}

export const ActionForm = (props: FormProps) => <PostForm {...props} refused={useOwnRefusal(props.action)} />

interface PasskeyFormProps {
  /** As navigator.credentials has it. */
  readonly how: 'create' | 'get'
  readonly action: string
  readonly options: object
  readonly children: ComponentChildren
}

/** Only a script can ask a browser for a passkey, and it shows and sends the form (client/passkey.ts). */
export const PasskeyForm = ({ how, action, options, children }: PasskeyFormProps) => (
  <form
    class="form"
    method="post"
    action={action}
    data-passkey={how}
    data-options={JSON.stringify(options)}
    hidden
  >
    <input type="hidden" name="response" value="" />
    {children}
    <p class="wrong" role="alert" data-wrong hidden />
  </form>
)

interface SendProps {
  readonly children: string
  /** Where the page has something more important to do. */
  readonly plain?: boolean
  readonly harm?: boolean | undefined
  readonly disabled?: boolean
  readonly beside?: ComponentChildren
}

export const Send = ({ children, plain = false, harm = false, disabled, beside }: SendProps) =>
  html`<div class="actions"><button type="submit" class="${harm ? 'b harm' : plain ? 'b' : 'b main'}"${attrs({ disabled })}>${children}</button>${beside}</div>`

export const Leave = ({ to, children = 'Leave it' }: { readonly to: string; readonly children?: string }) => (
  <ButtonLink to={to}>{children}</ButtonLink>
)

export const Submit = ({ children, main }: { children: ComponentChildren; main?: boolean }) =>
  html`<button type="submit" class="${main ? 'b main' : 'b'}">${children}</button>`

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
}

/** Of a field of this form: its id, what was typed when it was refused, and what was wrong with it. */
const fieldIn = (
  { action, idsAs = action, refused, unseen, of }: FieldsForm,
  name: string,
  value: FieldProps['value'] = of?.[name as keyof typeof of],
) => {
  const id = `${idsAs}-${name}`
  const own = [...unseen].filter(({ field }) => refused !== null && fieldOf(field, refused.form) === name)
  for (const one of own) unseen.delete(one)
  const wrong = own.length === 0 ? undefined : [...new Set(own.map(({ message }) => message))].join('; ')
  return {
    /** With what is wrong, so that who hears the page hears it there. */
    marks: {
      ...{ id, name },
      ...(wrong !== undefined && { 'aria-invalid': 'true' as const, 'aria-describedby': `${id}-wrong` }),
    },
    typed: refused?.form.has(name) ? refused.form.raw(name) : String(value ?? ''),
    says:
      wrong === undefined ? null : (
        <span class="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      ),
  }
}

const textField = (own: FieldsForm, props: FieldProps) => {
  const { name, label, hint, value, type = 'text', rows, maxLength: maxlength, ...more } = props
  const { marks, typed, says } = fieldIn(own, name, value)
  const known = { ...marks, ...more, maxlength }
  const field =
    rows === undefined
      ? html`<input${attrs({ type, value: type === 'password' ? '' : typed, ...known })}/>`
      : html`<textarea${attrs({ rows, ...known })}>${typed}</textarea>`
  const help = hint === undefined ? null : html`<span class="hint">${hint}</span>`
  return html`<label for="${marks.id}">${label}${field}${says}${help}</label>`
}

export const Field = (props: FieldProps) => textField(useContext(FormContext), props)

export type Options = readonly (readonly [value: string, label: string])[]

interface ChoiceProps extends Pick<FieldProps, 'name' | 'label' | 'hint' | 'value'> {
  /** A record has no value that is a number, which would come first. */
  readonly options: Options | Readonly<Record<string, string>>
}

const choiceField = (own: FieldsForm, { name, label, hint, options, value }: ChoiceProps) => {
  const { marks, typed, says } = fieldIn(own, name, value)
  const pairs: Options = Array.isArray(options) ? options : Object.entries(options)
  const all = pairs.map(
    ([one, text]) => html`<option${attrs({ value: one, selected: one === typed })}>${text}</option>`,
  )
  const help = hint === undefined ? null : html`<span class="hint">${hint}</span>`
  return html`<label for="${marks.id}">${label}<select${attrs(marks)}>${all}</select>${says}${help}</label>`
}

export const Choice = (props: ChoiceProps) => choiceField(useContext(FormContext), props)

/** Fields that few need; open once the form was refused, since a mistake may stand in them. */
export const FoldedFields = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <details class="fold" open={useContext(FormContext).refused !== null}>
    <summary>{title}</summary>
    <div class="form">{children}</div>
  </details>
)

interface CheckProps {
  readonly name: string
  readonly value?: string
  readonly label: ComponentChildren
  readonly on?: boolean | undefined
}

export const Check = ({ name, value = 'on', label, on = false }: CheckProps) => {
  const own = useContext(FormContext)
  const { refused } = own
  // where several have the name, the first of them says it
  const { says } = fieldIn(own, name, null)
  const checked = refused === null ? on : refused.form.all(name).includes(value)
  return (
    <label>
      <input type="checkbox" {...{ name, value, checked }} />
      {label}
      {says}
    </label>
  )
}

export const Hidden = ({ of }: { readonly of: Readonly<Record<string, string | null | undefined>> }) =>
  html`${Object.entries(of).map(([name, value]) =>
    value == null ? null : html`<input type="hidden" name="${name}" value="${value}"/>`,
  )}`

interface VerbProps {
  readonly action: string
  readonly label: string
  readonly children: ComponentChildren
  /** On the button that does it; the label where it is not said. */
  readonly does?: string
  readonly harm?: boolean
  readonly reason?: 'required' | 'optional' | 'none'
  /** Hidden fields: what it is about. */
  readonly about?: Readonly<Record<string, string>>
  readonly tiny?: boolean
  readonly choice?: ChoiceProps
  readonly beside?: ComponentChildren
}

/** Of a verb: its choice and its reason. As text, unless it was refused and has to say why. */
const verbFields = (own: OwnForm, { choice, reason = 'required' }: VerbProps): ComponentChildren => {
  const asked = {
    ...{ name: 'reason', label: 'Reason', hint: 'Stands in the audit.' },
    ...{ required: reason === 'required', maxLength: 200 },
  }
  const text = { ...own, unseen: new Set<Mistake>() }
  const isNew = own.refused === null
  return [
    choice && (isNew ? choiceField(text, choice) : <Choice {...choice} />),
    reason !== 'none' && (isNew ? textField(text, asked) : <Field {...asked} />),
  ]
}

/** A button that says what will happen, and asks for a reason, before it acts. */
export const Verb = (props: VerbProps) => {
  const { action, label, children, does = label, harm = false, about = {} } = props
  const own = useOwnRefusal(action)
  const same = Object.entries(about).every(([name, value]) => own?.form.raw(name) === value)
  const refused = same ? own : null
  const { name: _, ...ids } = about
  const form = { action, refused, idsAs: [action, ...Object.values(ids)].join('-').replace(/\s+/g, '_') }
  const fields = [
    Hidden({ of: about }),
    html`<div>${children}</div>`,
    verbFields(form, props),
    Send({ harm, beside: props.beside, children: does }),
  ]
  const posted = PostForm({ ...form, children: html`${fields}` })
  const look = `b${harm ? ' harm' : ''}${props.tiny ? ' tiny' : ''}`
  return html`<details class="verb" name="verb"${attrs({ open: refused !== null })}><summary class="${look}">${label}</summary>${posted}</details>`
}

interface FiltersProps {
  readonly path: string
  readonly children: ComponentChildren
  readonly does?: string
  readonly keep?: Readonly<Record<string, string | null>>
  readonly label?: string
  readonly beside?: ComponentChildren
}

export const Filters = ({ path, children, does = 'Show', keep = {}, label, beside }: FiltersProps) => (
  <form class="filters" action={path} role={label === undefined ? undefined : 'search'} aria-label={label}>
    <Hidden of={keep} />
    {children}
    <Submit>{does}</Submit>
    {beside}
  </form>
)

interface SelectProps {
  readonly name: string
  readonly label: string
  readonly options: Options
  readonly chosen?: string | null
}

export const Select = ({ name, label, options, chosen }: SelectProps) => (
  <label>
    <span>{label}</span>
    <select name={name}>
      {options.map(([value, text]) => (
        <option value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

/** As the address has it. */
export const Word = ({ label, ...field }: { name: string; label: string; placeholder: string }) => (
  <label>
    {label}
    <input {...field} value={useVisit().query(field.name) ?? ''} autocomplete="off" />
  </label>
)
