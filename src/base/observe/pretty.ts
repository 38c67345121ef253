/**
 * NAME      pretty - a log line for a person at a terminal
 * DESCRIPTION
 *   `12:01:02.345 INFO  settled  email=em_… from=queued to=sent`, made from the
 *   JSON line that everybody else gets. A value that is not plain stands quoted
 *   and escaped, so no subject and no address can look like a line of ours or
 *   steer the terminal.
 */
import { escapeText } from './escape.js'

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
export const prettyLine = (line: string, coloured: boolean): string => {
  const { level, time, msg, event, ...rest } = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(rest).map(([name, value]) => `${escapeText(name)}=${valueText(value)}`)
  const fact = escapeText(String(msg ?? event ?? ''))
  return `${String(time).slice(11, 23)} ${levelText(String(level), coloured)} ${[fact, ...fields].join('  ')}\n`
}
