/**
 * NAME      extra-rules - a site's own lines for the table
 * DESCRIPTION
 *   Turns plain data, as it stands in a configuration file, into rules:
 *     { category: policy, enhanced: [5.7.], code: [554], text: 'no thanks', unless: … }
 *   Patterns are case-insensitive regular expressions, tested as in rules.ts.
 *   A rule needs at least one condition; a mistake is said with its place.
 */
import { CATEGORIES, type Category, type Rule } from './category.js'

interface PlainRule {
  readonly category: string
  readonly enhanced?: readonly string[] | undefined
  readonly code?: readonly number[] | undefined
  readonly text?: string | undefined
  readonly unless?: string | undefined
}

const isCategory = (name: string): name is Category => Object.hasOwn(CATEGORIES, name)

const pattern = (source: string, place: string): RegExp => {
  try {
    return new RegExp(source, 'i')
  } catch {
    throw new TypeError(`${place}: not a regular expression: ${source}`)
  }
}

/** Throws for a rule that makes no sense, with its number. */
export const readRules = (plain: readonly PlainRule[]): Rule[] =>
  plain.map(({ category, enhanced, code, text, unless }, at) => {
    const place = `bounce rule ${at + 1}`
    if (!isCategory(category)) throw new TypeError(`${place}: no category is named ${category}`)
    if (enhanced === undefined && code === undefined && text === undefined)
      throw new TypeError(`${place}: give enhanced, code or text`)
    return {
      category,
      ...(enhanced === undefined ? {} : { enhanced }),
      ...(code === undefined ? {} : { code }),
      ...(text === undefined ? {} : { text: pattern(text, `${place}, text`) }),
      ...(unless === undefined ? {} : { unless: pattern(unless, `${place}, unless`) }),
    }
  })
