/**
 * NAME      main - the postern command line
 *   Reads the arguments, runs one command and turns its end into an exit code. A third door, at parity with the HTTP
 *   API: parse, call the same functions, print. An error is one line on stderr that names its remedy.
 */
import { basename } from 'node:path'
import { framesOf } from '../base/crash.js'
import { escapeLines } from '../base/text.js'
import { asTheySet } from '../config/variables.js'
import { CATALOG } from './catalog.js'
import { type ExitCode, endingOf } from './exit.js'
import { parse } from './parse.js'
import { openTerminal, type Streams, surviveClosedPipes } from './terminal.js'

const complain = (error: unknown, { stderr }: Streams): ExitCode => {
  const { exit, message } = endingOf(error)
  for (const line of message.split('\n')) stderr.write(`postern: ${escapeLines(asTheySet(line))}\n`)
  if (process.env.POSTERN_DEBUG && error instanceof Error)
    for (const frame of framesOf(error)) stderr.write(`    ${escapeLines(frame)}\n`)
  return exit
}

const runSendmail = async (words: readonly string[], streams: Streams): Promise<ExitCode> =>
  (await import('./sendmail.js')).sendmail(words, openTerminal(false, streams))

/** Runs one command line and answers its exit code; nothing is thrown. */
export const run = async (argv: readonly string[], streams: Streams): Promise<ExitCode> => {
  try {
    // sendmail has its own kind of flags (-ti, -oi, -fuser@host), which yargs would take apart
    const [first, ...rest] = argv
    if (first === 'sendmail' && !rest.includes('--help')) return await runSendmail(rest, streams)
    const parsed = await parse(argv, CATALOG)
    if (parsed.text !== null) streams.stdout.write(`${parsed.text}\n`)
    if (parsed.command === null) return 0
    return (await parsed.command.run(parsed.args, openTerminal(parsed.args.json, streams))) ?? 0
  } catch (error) {
    return complain(error, streams)
  }
}

/** The program: `run` on the streams of this process. A link named sendmail is sendmail. */
export const main = (argv: readonly string[]): Promise<ExitCode> => {
  surviveClosedPipes()
  // databases, locks, keys, copies: nothing that Postern writes is for others to read
  process.umask(0o077)
  process.on('uncaughtException', (error) => process.exit(complain(error, process)))
  const linked = [process.argv[1] ?? '', process.argv0].some((name) => basename(name) === 'sendmail')
  return run(linked ? ['sendmail', ...argv] : argv, process)
}
