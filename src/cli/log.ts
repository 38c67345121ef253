/**
 * NAME      log - the daemon's log on this program's standard output
 */
import { createLog, type Log, type LogLevel } from '../base/log.js'
import type { Config } from '../config/config.js'

/** `auto` is pretty where a person reads, and JSON for journald, files and pipes. */
export const openLog = ({ format }: Config['log'], level: LogLevel): Log => {
  const isTty = process.stdout.isTTY === true
  const pretty = format === 'pretty' || (format === 'auto' && isTty)
  const coloured = isTty && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return createLog(level, null, { format: pretty ? 'pretty' : 'json', coloured })
}
