/**
 * NAME      statement - SQL with `?` as PostgreSQL takes it
 * DESCRIPTION
 *   Values are numbered, and each text has a name under which a connection prepares it once. Texts are few, but
 *   for filters put together from parts; beyond a limit they are not prepared.
 */
interface Statement {
  readonly text: string
  readonly name?: string
}

const MOST = 1000
const known = new Map<string, Statement>()

/** A `?` within quotes is text. */
const numbered = (text: string): string => {
  let n = 0
  return text.replace(/'[^']*'|\?/g, (found) => (found === '?' ? `$${++n}` : found))
}

/** For a session that is somebody else's a moment later. */
export const namelessOf = (text: string): Statement => ({ text: statementOf(text).text })

export const statementOf = (text: string): Statement => {
  const found = known.get(text)
  if (found !== undefined) return found
  if (known.size >= MOST) return { text: numbered(text) }
  const made = { text: numbered(text), name: `s${known.size}` }
  known.set(text, made)
  return made
}
