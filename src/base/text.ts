/**
 * NAME      text - text of strangers, fit for a line, and how far a mistyped word is from a known one
 *   What JSON leaves as it is and a terminal, a pager or a log reader does not: C1 controls (an ANSI introducer among
 *   them), the line separators of Unicode, marks that turn the direction of text, half a surrogate pair. JSON takes the
 *   escapes back, so nothing is lost. Outside of JSON the C0 controls go, too.
 */
const WILD = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu
const CONTROLS = /[\u0000-\u001f]/g

const escapeOf = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** For a text that is JSON, where C0 controls are escaped already. */
export const escapeWild = (json: string): string => json.replace(WILD, escapeOf)

/** For a cell or a field of a table: one mark for each, so that columns stay columns. */
export const maskText = (text: string): string => text.replace(WILD, '?').replace(CONTROLS, '?')

/** For lines of ours that hold text of strangers: line feeds, tabs and our own colours stay. */
export const escapeLines = (text: string): string =>
  escapeWild(text).replace(/\u001b(?!\[[\d;]*m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f]/g, escapeOf)

/** For any text that must stay on its line. */
export const escapeText = (text: string): string => escapeWild(text).replace(CONTROLS, escapeOf)

/** Edits from one word to another (Levenshtein): letters put in, left out or changed. */
export const editDistance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** The known word that was probably meant, or null. */
export const nearest = (word: string, known: readonly string[]): string | null => {
  const ranked = known
    .map((name) => ({ name, edits: name.startsWith(word) ? 0.5 : editDistance(word, name) }))
    .filter(({ name, edits }) => edits <= 1 + Math.floor(Math.min(name.length, word.length) / 3))
    .sort((a, b) => a.edits - b.edits)
  return ranked[0]?.name ?? null
}

export type CamelName<S> = S extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelName<Rest>>}`
  : S

/** `workspace_id`, as rows call it. */
export const camelName = (name: string): string => name.replace(/_(.)/g, (_, c: string) => c.toUpperCase())

/** Members of the wire under the names that rows have for them. */
export const camel = <T extends object>(
  body: T,
): { readonly [K in keyof T as CamelName<K & string>]: T[K] } =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [camelName(name), value])) as never
