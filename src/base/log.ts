/**
 * NAME      log - one JSON object per line, for journald
 * DESCRIPTION
 *   A thin face on pino. Callers log facts: an event name and the ids that join
 *   it to a mail or a request. No address, subject or body above debug level,
 *   and never a secret: fields with the names below are cut even if someone
 *   passes a whole object by mistake.
 *   The lines of one turn of the event loop leave in one write: a crowd of
 *   settled mails is one system call. The end of the process writes the rest.
 */
import pino, { type DestinationStream, type Logger as Pino } from 'pino'

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

export const createLog = (level: LogLevel, destination?: DestinationStream): Log =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`]), censor: '[cut]' },
    },
    destination ?? gathered(pino.destination({ dest: 1, sync: true })),
  )

export const silentLog = (): Log => pino({ level: 'silent' })
