/**
 * NAME      setting - members of a record that people set: their fields in a form, what was typed there, and what stands
 *   All of it from the words that the record has for them; what has none is a page's own.
 */
import type { settingsOf } from '../../resource/member.js'
import type { Form } from '../form.js'
import { Check, Choice, Field } from './form.js'

type Settings = ReturnType<typeof settingsOf>
type Setting = Settings[number]
type Shown = Readonly<Record<string, unknown>>

const labelled = (settings: Settings): Settings => settings.filter(({ label }) => label !== undefined)

interface Props {
  readonly settings: Settings
  /** null: it is about to be made. */
  readonly row: Shown | null
}

export const SettingField = ({ of, row }: Pick<Props, 'row'> & { readonly of: Setting }) => {
  const { name, label = '', type, words, choices, begins, hint } = of
  const value = row?.[name] ?? begins
  if (choices !== undefined)
    return <Choice {...{ name, label }} value={String(value ?? words?.[0] ?? false)} options={choices} />
  if (type === 'flag') return <Check {...{ name, label }} on={value === true} />
  return (
    <Field
      {...{ name, label, hint, value: value as string | number | null }}
      type={type === 'whole' ? 'number' : 'text'}
    />
  )
}

/** Flags below each other, then the others in a row. */
export const SettingFields = ({ settings, row }: Props) => {
  const all = labelled(settings)
  const fields = (isFlag: boolean) =>
    all.filter(({ type }) => (type === 'flag') === isFlag).map((of) => <SettingField {...{ of, row }} />)
  return (
    <>
      {fields(true)}
      <div class="form-row">{fields(false)}</div>
    </>
  )
}

const readIn = (form: Form, name: string, type: Setting['type'], isChosen: boolean) => {
  if (type === 'flag') return isChosen ? form.raw(name) === 'true' : form.has(name)
  return type === 'whole' ? form.number(name) : form.text(name)
}

/** As /v1 takes it. */
export const settingsIn = (settings: Settings, form: Form): Shown =>
  Object.fromEntries(
    labelled(settings).map(({ name, type, choices }) => [
      name,
      readIn(form, name, type, choices !== undefined),
    ]),
  )

export const settingFacts = (settings: Settings, row: Shown): readonly (readonly [string, string])[] =>
  labelled(settings).flatMap(({ name, label = '', fact = label, type, values }) => {
    if (fact === null) return []
    const value = row[name]
    const plain = type === 'flag' ? (value ? 'yes' : 'no') : String(value ?? 'none')
    return [[fact, values?.[String(value)] ?? plain] as const]
  })
