/**
 * NAME      tag - a tag as people write it
 * DESCRIPTION
 *   `name:value` or `name=value`: no name has either sign (draft tags are checked for that), so the first one ends it.
 */
interface WrittenTag {
  readonly name: string
  /** null where only a name was written. */
  readonly value: string | null
}

export const readTag = (text: string): WrittenTag => {
  const at = text.search(/[:=]/)
  return at === -1 ? { name: text, value: null } : { name: text.slice(0, at), value: text.slice(at + 1) }
}

/** As it is shown, and searched for. */
export const tagText = ({ name, value }: WrittenTag): string => (value === null ? name : `${name}:${value}`)
