/**
 * NAME      filters - fields that narrow a list; they stand in its address
 */
import type { ComponentChildren } from 'preact'
import { useVisit } from '../render/context.js'
import { Hidden, type Options } from './form.js'

interface FiltersProps {
  readonly path: string
  readonly children: ComponentChildren
  /** On the button. */
  readonly does?: string
  /** What else stays as it is. */
  readonly keep?: Readonly<Record<string, string | null>>
  readonly label?: string
  /** Beside the button. */
  readonly beside?: ComponentChildren
}

export const Filters = ({ path, children, does = 'Show', keep = {}, label, beside }: FiltersProps) => (
  <form class="filters" action={path} role={label === undefined ? undefined : 'search'} aria-label={label}>
    <Hidden of={keep} />
    {children}
    <button type="submit" class="b">
      {does}
    </button>
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

interface WordProps {
  readonly name: string
  readonly label: string
  readonly placeholder: string
}

/** As the address has it. */
export const Word = ({ label, ...field }: WordProps) => (
  <label>
    {label}
    <input {...field} value={useVisit().query(field.name) ?? ''} autocomplete="off" />
  </label>
)
