/**
 * NAME      log - one JSON object per line, for journald; pretty lines for people
 *   A thin face on pino. Callers log facts: an event name and the ids that join it to a mail or a request. No address,
 *   subject or body above debug level, and never a secret: fields with the names below are cut even if someone passes a
 *   whole object by mistake. Errors are told as crash.ts allows, and what strangers wrote can neither end a line nor
 *   steer a terminal. The lines of one turn of the event loop leave in one write: a crowd of settled mails is one
 *   system call. The end of the process writes the rest, and so does a line that tells of an error: only a process that
 *   is killed loses lines, those of one turn. `12:01:02.345 INFO settled email=em_… from=queued to=sent`, made from the
 *   JSON line that everybody else gets. A value that is not plain stands quoted and escaped, so no subject and no
 *   address can look like a line of ours or steer the terminal.
 */
import pino, { type DestinationStream, type Logger as Pino } from 'pino'
import { crashFacts, scrub } from './crash.js'
import { escapeText, escapeWild } from './text.js'

const PLAIN = /^[\w.:/@<>+%-]+$/
const COLOURS: Readonly<Record<string, number>> = { warn: 33, error: 31, fatal: 35, debug: 90, trace: 90 }

const valueText = (value: unknown): string =>
  typeof value === 'string' && PLAIN.test(value) ? value : escapeText(JSON.stringify(value) ?? 'null')

const levelText = (level: string, coloured: boolean): string => {
  const text = level.toUpperCase().padEnd(5)
  const colour = COLOURS[level]
  return coloured && colour !== undefined ? `\u001b[${colour}m${text}\u001b[39m` : text
}

/** One JSON line, with its line feed, as one line for a person. */
const prettyLine = (line: string, coloured: boolean): string => {
  const { level, time, msg, event, ...rest } = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(rest).map(([name, value]) => `${escapeText(name)}=${valueText(value)}`)
  const fact = escapeText(String(msg ?? event ?? ''))
  return `${String(time).slice(11, 23)} ${levelText(String(level), coloured)} ${[fact, ...fields].join('  ')}\n`
}

export type Log = Pino
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const SECRET_NAMES: ReadonlySet<string> = new Set([
  'password',
  'pass',
  'secret',
  'authorization',
  'token',
  'pepper',
  'hash',
])

type Fields = Record<string, unknown>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The fields without secrets, and without those of an object among them. pino's own redaction makes a
 * copy of each value of each line, a fifth of what a mail costs in memory; here a line without secrets
 * is looked at and left as it is.
 */
const withoutSecrets = (fields: Fields, depth = 2): Fields => {
  let told = fields
  for (const name in fields) {
    const value = fields[name]
    const safe = SECRET_NAMES.has(name)
      ? '[cut]'
      : depth > 1 && isObject(value) && !(value instanceof Error)
        ? withoutSecrets(value, depth - 1)
        : value
    if (safe !== value) told = { ...told, [name]: safe }
  }
  return told
}

const gathered = (out: DestinationStream): DestinationStream & { flush(): void } => {
  let lines = ''
  const flush = (): void => {
    const leaving = lines
    lines = ''
    if (leaving !== '') out.write(leaving)
  }
  process.on('exit', flush)
  return {
    write(line) {
      if (lines === '') setImmediate(flush)
      lines += line
    },
    flush,
  }
}

interface LogStyle {
  readonly format: 'json' | 'pretty'
  /** Only of pretty lines. */
  readonly coloured: boolean
}

const JSON_LINES: LogStyle = { format: 'json', coloured: false }

/** A line begins with its level. */
const AT_ONCE = /^{"level":"(?:error|fatal)"/

const styled = (
  out: DestinationStream & { flush?(): void },
  { format, coloured }: LogStyle,
): DestinationStream & { flush(): void } => ({
  write(line) {
    out.write(format === 'json' ? escapeWild(line) : prettyLine(line, coloured))
    if (AT_ONCE.test(line)) out.flush?.()
  },
  flush: () => out.flush?.(),
})

/** Null is what a line says when nothing went wrong. */
const safeError = (error: unknown): unknown => {
  if (error === null || error === undefined) return error
  return typeof error === 'string' ? scrub(error) : crashFacts(error)
}

export const createLog = (
  level: LogLevel,
  destination: DestinationStream | null = null,
  style: LogStyle = JSON_LINES,
): Log =>
  pino(
    {
      level,
      base: null,
      // of an `err` pino would make `msg`, as it was thrown: with addresses, and in the place of the line's name
      errorKey: 'thrown',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: withoutSecrets, bindings: withoutSecrets },
      serializers: { err: safeError, error: safeError },
    },
    styled(destination ?? gathered(pino.destination({ dest: 1, sync: true })), style),
  )

export const silentLog = (): Log => pino({ level: 'silent' })
