/**
 * NAME      markup - HTML as it is written, for what a page has in hundreds
 * DESCRIPTION
 *   An element of preact is an object that is made, walked and thrown away. Of a row of a table the text is joined at
 *   once instead. Every value is escaped as preact does it, in attributes too, which stand in double quotes; markup is
 *   only what was made here or by preact. Components, which know where they stand, are left to preact.
 */
import type { ComponentChildren, VNode } from 'preact'
import { jsxEscape, jsxTemplate } from 'preact/jsx-runtime'

interface Template {
  readonly tpl?: readonly string[]
}

/** Null where something is left for preact to render. An object out of JSON has a constructor. */
const textOf = (value: ComponentChildren): string | null => {
  if (value == null || typeof value === 'boolean') return ''
  if (typeof value !== 'object') return jsxEscape(value) as string
  if (Array.isArray(value)) {
    let all = ''
    for (const one of value) {
      const text = textOf(one)
      if (text === null) return null
      all += text
    }
    return all
  }
  if (value.constructor !== undefined) return null
  const { tpl } = (value as VNode<Template>).props ?? {}
  return tpl?.length === 1 ? (tpl[0] ?? null) : null
}

/** Nothing in it is left for preact to render. */
export const isText = (value: ComponentChildren): boolean => textOf(value) !== null

export const html = (texts: TemplateStringsArray, ...values: readonly ComponentChildren[]): VNode => {
  const parts: string[] = []
  const rest: ComponentChildren[] = []
  let text = texts[0] ?? ''
  for (let i = 0; i < values.length; i++) {
    const known = textOf(values[i])
    if (known !== null) text += known
    else {
      parts.push(text)
      rest.push(values[i])
      text = ''
    }
    text += texts[i + 1]
  }
  parts.push(text)
  return jsxTemplate(parts, ...rest)
}

type Value = string | number | boolean | null | undefined

/** Those that have a value; of what is true, the name alone. */
export const attrs = (of: Readonly<Record<string, Value>>): VNode => {
  let text = ''
  for (const name in of) {
    const value = of[name]
    if (value == null || value === false) continue
    text += value === true ? ` ${name}` : ` ${name}="${jsxEscape(value)}"`
  }
  return jsxTemplate([text])
}
