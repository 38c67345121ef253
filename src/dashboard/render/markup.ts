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

/** The text of what is nothing but text by now, or null. An object out of JSON has a constructor. */
const textOf = (value: object): string | null => {
  if (value.constructor !== undefined) return null
  const { tpl } = (value as VNode<Template>).props ?? {}
  return tpl?.length === 1 ? (tpl[0] ?? null) : null
}

/** Nothing in it is left for preact to render. */
export const isText = (value: ComponentChildren): boolean =>
  typeof value !== 'object' || value === null || textOf(value) !== null

export const html = (texts: TemplateStringsArray, ...values: readonly ComponentChildren[]): VNode => {
  const parts: string[] = []
  const rest: object[] = []
  let text = texts[0] ?? ''
  const add = (value: ComponentChildren): void => {
    if (value == null || typeof value === 'boolean') return
    if (typeof value !== 'object') text += jsxEscape(value)
    else if (Array.isArray(value)) for (const one of value) add(one)
    else {
      const known = textOf(value)
      if (known !== null) text += known
      else {
        parts.push(text)
        rest.push(value)
        text = ''
      }
    }
  }
  for (let i = 0; i < values.length; i++) {
    add(values[i])
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
