/**
 * NAME      log - one JSON object per line, for journald; pretty lines for people
 * DESCRIPTION
 *   A thin face on pino. Callers log facts: an event name and the ids that join
 *   it to a mail or a request. No address, subject or body above debug level,
 *   and never a secret: fields with the names below are cut even if someone
 *   passes a whole object by mistake. Errors are told as crash.ts allows, and
 *   what strangers wrote can neither end a line nor steer a terminal.
 *   The lines of one turn of the event loop leave in one write: a crowd of
 *   settled mails is one system call. The end of the process writes the rest.
 */
import pino, { type DestinationStream, type Logger as Pino } from 'pino'
import { crashFacts, scrub } from './crash.js'
import { escapeWild } from './observe/escape.js'
import { prettyLine } from './observe/pretty.js'

export type Log = Pino
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const SECRET_NAMES = ['password', 'pass', 'secret', 'authorization', 'token', 'pepper', 'hash']

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

export interface LogStyle {
  readonly format: 'json' | 'pretty'
  /** Only of pretty lines. */
  readonly coloured: boolean
}

const JSON_LINES: LogStyle = { format: 'json', coloured: false }

const styled = (
  out: DestinationStream & { flush?(): void },
  { format, coloured }: LogStyle,
): DestinationStream & { flush(): void } => ({
  write: (line) => out.write(format === 'json' ? escapeWild(line) : prettyLine(line, coloured)),
  flush: () => out.flush?.(),
})

const safeError = (error: unknown): unknown => (typeof error === 'string' ? scrub(error) : crashFacts(error))

export const createLog = (
  level: LogLevel,
  destination: DestinationStream | null = null,
  style: LogStyle = JSON_LINES,
): Log =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: safeError, error: safeError },
      redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`]), censor: '[cut]' },
    },
    styled(destination ?? gathered(pino.destination({ dest: 1, sync: true })), style),
  )

export const silentLog = (): Log => pino({ level: 'silent' })
