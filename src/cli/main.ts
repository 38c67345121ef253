/**
 * NAME      main - the postern command line
 * DESCRIPTION
 *   Reads the arguments, runs one command and turns its end into an exit code.
 *   A third door, at parity with the HTTP API: parse, call the same functions,
 *   print. An error is one line on stderr that names its remedy.
 */
import { basename } from 'node:path'
import { CATALOG } from './catalog.js'
import { type ExitCode, endingOf } from './exit.js'
import { parse } from './parse.js'
import { openTerminal, surviveClosedPipes } from './terminal.js'

const complain = (error: unknown): ExitCode => {
  const { exit, message } = endingOf(error)
  for (const line of message.split('\n')) process.stderr.write(`postern: ${line}\n`)
  if (process.env.POSTERN_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return exit
}

/** Runs one command line and answers its exit code; nothing is thrown. */
export const main = async (argv: readonly string[]): Promise<ExitCode> => {
  surviveClosedPipes()
  process.on('uncaughtException', (error) => process.exit(complain(error)))
  // sendmail has its own kind of flags (-ti, -oi, -fuser@host), which yargs would take apart
  const [first, ...rest] = basename(process.argv[1] ?? '') === 'sendmail' ? ['sendmail', ...argv] : argv
  try {
    if (first === 'sendmail' && !rest.includes('--help'))
      return await (await import('./sendmail.js')).sendmail(rest)
    const parsed = await parse(argv, CATALOG)
    if (parsed.text !== null) process.stdout.write(`${parsed.text}\n`)
    if (parsed.command === null) return 0
    const exit = await parsed.command.run(parsed.args, openTerminal(parsed.args.json))
    return exit ?? 0
  } catch (error) {
    return complain(error)
  }
}
