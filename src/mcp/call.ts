/**
 * NAME      call - a call of a tool: one request of the API, and its answer as an agent can read it
 *   A refusal is a result with `isError`: the problem as the daemon wrote it, with its remedy; so is a daemon that is
 *   not there. An answer has a bound: a longer list is asked for again with a smaller limit, so that its cursor goes on
 *   where it ends, and longer texts are cut. Each cut is said.
 */
import { createHash } from 'node:crypto'
import { FAULTS, type FaultCode } from '../base/fault.js'
import { escapeWild } from '../base/text.js'
import { AS_DATA, type Tool } from './tool.js'

type Json = Readonly<Record<string, unknown>>

export interface Request {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined: none. */
  readonly body: unknown
}

export interface ApiAnswer {
  readonly status: number
  readonly body: unknown
  readonly retryAfter: string | undefined
  readonly isRepeat: boolean
}

export interface AskedDaemon {
  readonly base: string
  ask(method: string, request: Request, signal: AbortSignal): Promise<ApiAnswer>
  /** What an error of `ask` says; null where it is a bug of ours. */
  explain(error: unknown): { readonly title: string; readonly isAway: boolean } | null
}

type ToolResult = {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  readonly structuredContent?: Json
  readonly isError?: true
}

const REPEATED =
  'This was accepted before, by the same call: no second mail is sent. Another `idempotency_key` would send it again.'

/** Letters of an answer: some 15,000 tokens. */
const MOST = 60_000
const SHORTER = [4_000, 1_000, 200] as const
const CUT_NOTE = 80

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string => escapeWild(JSON.stringify(value))

const resultOf = (value: Json, notes: readonly string[], isError = false): ToolResult => ({
  content: [textOf(value), ...notes].map((text) => ({ type: 'text', text })),
  structuredContent: value,
  ...(isError && { isError: true }),
})

/** What the agent itself did wrong, or what the daemon never heard of. */
export const refusal = (title: string, remedy: string): ToolResult => resultOf({ title, remedy }, [], true)

const problemOf = (problem: Json, retryAfter: string | undefined): ToolResult => {
  const { code } = problem
  const row = typeof code === 'string' && Object.hasOwn(FAULTS, code) ? FAULTS[code as FaultCode] : null
  const more = {
    ...(row && { remedy: row.remedy }),
    ...(retryAfter !== undefined && { retry_after_seconds: Number(retryAfter) }),
  }
  return resultOf({ ...problem, ...more }, [], true)
}

/** The same members in one order, whatever order an agent wrote them in. */
const ordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordered)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, ordered(value[name])]))
}

const ownKey = (name: string, args: Json): string =>
  `mcp-${createHash('sha256')
    .update(JSON.stringify([name, ordered(args)]))
    .digest('base64url')}`

class WrongArguments extends Error {}

const textIn = (name: string, value: unknown): string => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return `${value}`
  throw new WrongArguments(`${name} must be a text`)
}

const requestOf = ({ row, places }: Tool, args: Json): Request => {
  const query = new URLSearchParams()
  const headers: Record<string, string> = {}
  let { path } = row
  for (const [name, value] of Object.entries(args)) {
    if (name === 'body' && row.body !== undefined) continue
    const place = places.get(name)
    if (place === undefined) {
      const known = [...places.keys(), ...(row.body === undefined ? [] : ['body'])]
      throw new WrongArguments(
        `there is no argument ${name.slice(0, 100)}; there are: ${known.join(', ') || 'none'}`,
      )
    }
    if (value === null) continue
    const text = textIn(name, value)
    if (place.in === 'query') query.append(place.name, text)
    else if (place.in === 'header') {
      if (!/^[\x21-\x7e]{1,256}$/.test(text))
        throw new WrongArguments(`${name} must be 1 to 256 letters of ASCII`)
      headers[place.name] = text
    } else {
      // a URL takes these for a way up
      if (/^\.{0,2}$|\p{Surrogate}/u.test(text)) throw new WrongArguments(`${name} names nothing`)
      path = path.replace(`{${place.name}}`, () => encodeURIComponent(text))
    }
  }
  const [, missing] = /\{(\w+)\}/.exec(path) ?? []
  if (missing !== undefined) throw new WrongArguments(`${missing} is missing`)
  if (row.headers?.['Idempotency-Key'] !== undefined) headers['Idempotency-Key'] ??= ownKey(row.id, args)
  const asked = query.size === 0 ? path : `${path}?${query}`
  return { path: asked, headers, body: row.body === undefined ? undefined : args.body }
}

const shortened = (value: unknown, most: number): unknown => {
  if (typeof value === 'string')
    return value.length <= most + CUT_NOTE
      ? value
      : `${value.slice(0, most)}… [cut here: ${value.length} characters in all]`
  if (Array.isArray(value)) return value.map((one) => shortened(one, most))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one, most)]))
}

/** As much of it as an agent can read, and a word on what is missing. */
const bounded = (value: Json, notes: readonly string[]): ToolResult => {
  if (textOf(value).length <= MOST) return resultOf(value, notes)
  for (const most of SHORTER) {
    const shorter = shortened(value, most) as Json
    if (textOf(shorter).length <= MOST)
      return resultOf(shorter, [...notes, `Texts of more than ${most} characters are cut, and say so.`])
  }
  const cut = 'The answer is cut in the middle: ask for less, by a smaller `limit` or by more filters.'
  const texts = [textOf(value).slice(0, MOST), ...notes, cut]
  return { content: texts.map((text) => ({ type: 'text', text })) }
}

/** So many rows of such an answer would fit; null where that is not the question. */
const fewer = ({ places }: Tool, { cursor }: Json, { data }: Json): number | null => {
  if (!Array.isArray(data) || data.length < 2 || !places.has('limit') || cursor != null) return null
  const size = textOf(data).length
  return size <= MOST * 0.9 ? null : Math.max(1, Math.floor((data.length * MOST * 0.8) / size))
}

const asked = async (daemon: AskedDaemon, tool: Tool, args: Json, signal: AbortSignal) => {
  const answer = await daemon.ask(tool.row.method, requestOf(tool, args), signal)
  return { ...answer, body: isObject(answer.body) ? answer.body : { value: answer.body } }
}

const answered = async (
  daemon: AskedDaemon,
  tool: Tool,
  args: Json,
  signal: AbortSignal,
): Promise<ToolResult> => {
  const first = await asked(daemon, tool, args, signal)
  if (first.status >= 400) return problemOf(first.body, first.retryAfter)
  const notes = tool.isOfStrangers ? [AS_DATA] : []
  if (first.isRepeat) notes.push(REPEATED)
  const limit = tool.isReading ? fewer(tool, args, first.body) : null
  if (limit === null) return bounded(first.body, notes)
  const again = await asked(daemon, tool, { ...args, limit }, signal)
  if (again.status >= 400) return problemOf(again.body, again.retryAfter)
  return bounded(again.body, [
    ...notes,
    `Only ${limit} rows, because more would be too long. For the next ones give \`cursor\`: the \`next_cursor\` of \`pagination\`.`,
  ])
}

/** Throws only what is a bug of ours, and what the signal ended. */
export const callTool = async (
  daemon: AskedDaemon,
  tool: Tool,
  args: Json,
  signal: AbortSignal,
): Promise<ToolResult> => {
  try {
    return await answered(daemon, tool, args, signal)
  } catch (error) {
    if (error instanceof WrongArguments) return refusal(error.message, 'Call it again with other arguments.')
    const why = signal.aborted ? null : daemon.explain(error)
    if (why === null) throw error
    return refusal(
      why.title,
      why.isAway
        ? `Look whether the daemon runs at ${daemon.base}, and call again; --url names another place.`
        : 'Whoever runs this server can mend it: see postern mcp --help.',
    )
  }
}
