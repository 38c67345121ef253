/**
 * NAME      parse - from argv to one command and its arguments, or to what is wrong with it in one line
 *   Feeds the catalog to yargs and takes back which command was meant. yargs runs nothing, prints nothing and exits
 *   nothing here. What it lets pass is refused: an option given twice, a number that is none. What it complains about
 *   becomes a sentence that names the word and the remedy; an unknown option or command is answered with the nearest.
 */

import yargs, { type Argv, type Options } from 'yargs'
import { nearest } from '../base/text.js'
import {
  type Catalog,
  type CatalogEntry,
  type Command,
  GLOBAL_OPTIONS,
  type Globals,
  isSubject,
  optionsOf,
  type Subject,
  verbOf,
} from './command.js'
import { EXITS, usage } from './exit.js'
import { PAGE_WIDTH } from './table.js'
import { STDIN } from './terminal.js'
import { versionText } from './version.js'

/** How far the command line was understood. */
interface Place {
  subject: Subject | null
  command: Command | null
}

const pathOf = ({ subject, command }: Place): string =>
  ['postern', subject?.name, command && verbOf(command)].filter((word) => word).join(' ')

const usageOf = ({ subject, command }: Place): string =>
  ['postern', subject?.name, command?.usage].filter((word) => word).join(' ')

const unknown = (what: string, word: string, known: readonly string[], at: Place) => {
  const hint = nearest(word, known)
  return usage(
    `unknown ${what} ${word}; ${hint === null ? `try: ${pathOf(at)} --help` : `did you mean ${hint}?`}`,
  )
}

/** yargs loses a lone `-` among the positionals, and whatever follows `--`, so these travel under another name. */
const SHIELD = '\u0000'
const shielded = (argv: readonly string[]): string[] => {
  const end = argv.indexOf('--')
  const options = end < 0 ? argv : argv.slice(0, end)
  const others = end < 0 ? [] : argv.slice(end + 1)
  return [
    ...options.map((word) => (word === STDIN ? SHIELD + word : word)),
    ...others.map((word) => SHIELD + word),
  ]
}
const asTyped = (word: string): string => (word.startsWith(SHIELD) ? word.slice(SHIELD.length) : word)
const unshield = (args: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const plain = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(plain) : typeof value === 'string' ? asTyped(value) : value
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, plain(value)]))
}

const refuseUnknown = (words: readonly string[], argv: readonly string[], at: Place, catalog: Catalog) => {
  const typed = argv.map((arg) => arg.replace(/=.*/s, ''))
  const option = typed.find((arg) => arg.startsWith('-') && words.includes(arg.replace(/^--?(no-)?/, '')))
  if (option !== undefined) {
    const known = [
      ...Object.keys(at.command === null ? {} : optionsOf(at.command)),
      ...Object.keys(GLOBAL_OPTIONS),
      'help',
    ]
    return unknown(
      'option',
      option,
      known.map((name) => `--${name}`),
      at,
    )
  }
  const word = asTyped(words[0] ?? '')
  if (at.command !== null) return usage(`unexpected argument ${word}; usage: ${usageOf(at)}`)
  const known = at.subject === null ? catalog.map(({ name }) => name) : at.subject.commands.map(verbOf)
  return unknown('command', word, known, at)
}

/** Throws the Refusal (64) that belongs to a complaint of yargs. */
const refuse = (message: string, argv: readonly string[], at: Place, catalog: Catalog): never => {
  const found = (pattern: RegExp): string[] => pattern.exec(message)?.slice(1) ?? []
  const [words] = found(/^Unknown (?:argument|command)s?: (.*)$/)
  if (words !== undefined) throw refuseUnknown(words.split(', '), argv, at, catalog)
  const [valueless] = found(/^Not enough arguments following: (.*)$/)
  if (valueless !== undefined) throw usage(`--${valueless} needs a value`)
  if (message.startsWith('Not enough non-option')) throw usage(`something is missing; usage: ${usageOf(at)}`)
  const [missing] = found(/^Missing required arguments?: (.*)$/)
  if (missing !== undefined) {
    const names = missing.split(', ').map((name) => `--${name}`)
    throw usage(`${pathOf(at)} needs ${names.join(' and ')}`)
  }
  const [name, given, choices] = found(/Argument: (.*), Given: (.*), Choices: (.*)/)
  if (name !== undefined) throw usage(`--${name}: ${given} is not one of ${choices?.replaceAll('"', '')}`)
  throw usage(message.replace(/\s*\n\s*/g, ' ').trim())
}

interface Parsed {
  readonly command: Command | null
  readonly args: Globals & Readonly<Record<string, unknown>>
  /** Help or version, to be printed; null when a command runs. */
  readonly text: string | null
}

const EXIT_TABLE = Object.entries(EXITS).map(([code, meaning]) => `  ${code.padStart(2)}  ${meaning}`)
const EXIT_HELP = `Exit codes:\n${EXIT_TABLE.join('\n')}`

const refuseOddValues = (command: Command, args: Readonly<Record<string, unknown>>): void => {
  const known = { ...GLOBAL_OPTIONS, ...optionsOf(command), ...command.positionals }
  for (const [name, option] of Object.entries(known) as [string, Options][]) {
    const value = args[name]
    if (Array.isArray(value) && option.array !== true) throw usage(`--${name} is given twice; once is enough`)
    // each number here counts something: mails, rows, sends
    if (
      option.type === 'number' &&
      value !== undefined &&
      !(Number.isSafeInteger(value) && Number(value) > 0)
    ) {
      throw usage(`--${name}: expected a whole number above 0`)
    }
    if (value === '' && option.type === 'string')
      throw usage(`--${name}: expected a value, found an empty one`)
  }
}

/** Each on lines of its own, to be copied: what yargs prints is cut up at the end of the page. */
const exampleText = (examples: Command['examples']): string =>
  [
    'Examples:',
    ...examples.flatMap(([example, meaning]) => [
      ...(meaning === '' ? [] : [`  # ${meaning}`]),
      `  ${example.replaceAll('$0', 'postern')}`,
    ]),
  ].join('\n')

/** Where one begins: each answers one question of somebody who is new here. */
const FIRST_STEPS: Command['examples'] = [
  ['$0 dev', 'try it: nothing leaves this machine'],
  ['$0 init && $0 doctor', 'set it up, and see what is missing'],
  ['$0 status', 'whether mail flows'],
  ['$0 email show ana@example.com', 'what became of the mail to Ana'],
]
/** So many of its commands' examples show what a subject is for. */
const SHOWN = 3

const examplesOf = ({ subject, command }: Place): Command['examples'] => {
  if (command !== null) return command.examples
  if (subject === null) return FIRST_STEPS
  return subject.commands.flatMap((one) => one.examples.slice(0, 1)).slice(0, SHOWN)
}

const declare = (onto: Argv, command: Command): Argv => {
  for (const [name, shape] of Object.entries(command.positionals)) onto.positional(name, shape)
  for (const [name, option] of Object.entries(optionsOf(command))) {
    const valued = option.type === 'boolean' ? {} : { requiresArg: true }
    onto.option(name, { ...valued, ...option, group: 'Options:' })
  }
  return onto.epilogue(EXIT_HELP)
}

const add = (onto: Argv, one: Command, at: Place): Argv =>
  onto.command(one.usage, one.summary, (inner) => {
    at.command = one
    return declare(inner, one)
  })

const addSubject = (onto: Argv, subject: Subject, summary: string, at: Place): Argv =>
  onto.command(subject.name, summary, (inner) => {
    at.subject = subject
    for (const one of subject.commands) add(inner, one, at)
    return inner.usage(`$0 ${subject.name} <verb>\n\n${summary}`).epilogue(EXIT_HELP)
  })

/** All that an entry of the catalog has. Commands of rows show what the list of their subject lists, and stand behind it. */
export const loadWhole = async (entry: CatalogEntry): Promise<Subject | Command> => {
  const loaded = await entry.load()
  if (!isSubject(loaded)) return loaded
  const { rowCommands } = await import('./rows.js')
  const place = loaded.commands.findIndex((one) => verbOf(one) === 'list') + 1
  return { ...loaded, commands: loaded.commands.toSpliced(place, 0, ...rowCommands(loaded.name)) }
}

/** The same, without the rows where a command of the subject's own file is meant: they come with the shapes of all endpoints. */
const loadFor = async (entry: CatalogEntry, argv: readonly string[]): Promise<Subject | Command> => {
  const loaded = await entry.load()
  const isOwn = isSubject(loaded) && loaded.commands.some((one) => argv.includes(verbOf(one)))
  return isOwn ? loaded : loadWhole(entry)
}

const addEntry = async (
  onto: Argv,
  entry: CatalogEntry,
  argv: readonly string[],
  at: Place,
): Promise<void> => {
  if (!argv.includes(entry.name)) {
    onto.command(entry.name, entry.summary)
    return
  }
  const loaded = await loadFor(entry, argv)
  if (isSubject(loaded)) addSubject(onto, loaded, entry.summary, at)
  else add(onto, loaded, at)
}

/** With each command yargs draws its help, to have it after an error that can not come here: a tenth of what a short one takes. */
const undrawn = (parser: Argv): Argv => {
  type Inner = { getInternalMethods(): { getUsageInstance(): { cacheHelpMessage: () => void } } }
  const usageOf = (parser as unknown as Inner).getInternalMethods().getUsageInstance()
  usageOf.cacheHelpMessage = () => {}
  return parser
}

const root = (argv: readonly string[], catalog: Catalog, at: Place): Argv =>
  undrawn(yargs())
    .scriptName('postern')
    .locale('en')
    .usage('$0 <subject> <verb>\n\nA self-hosted gateway for transactional email.')
    .exitProcess(false)
    .showHelpOnFail(false)
    .version(versionText())
    .strict()
    .wrap(Math.min(PAGE_WIDTH, process.stdout.columns || PAGE_WIDTH))
    .parserConfiguration({ 'greedy-arrays': false, 'dot-notation': false, 'parse-numbers': false })
    .options(GLOBAL_OPTIONS)
    .alias('help', 'h')
    .describe({ help: 'Show this', version: 'Show the version' })
    .group([...Object.keys(GLOBAL_OPTIONS), 'help', 'version'], 'Everywhere:')
    .epilogue(EXIT_HELP)
    .fail((message, error) => refuse(message ?? error?.message ?? '', argv, at, catalog))

const nothingToRun = ({ subject }: Place): never => {
  if (subject === null) throw usage('name a command; try: postern --help')
  throw usage(`${subject.name} needs a verb: ${subject.commands.map(verbOf).join(', ')}`)
}

/** Reads a command line. Throws a Refusal (64) with one line when it is wrong. */
export const parse = async (argv: readonly string[], catalog: Catalog): Promise<Parsed> => {
  const at: Place = { subject: null, command: null }
  const parser = root(argv, catalog, at)
  for (const entry of catalog) await addEntry(parser, entry, argv, at)
  let text: string | null = null
  const read = await parser.parseAsync(
    shielded(argv),
    {},
    (_error: unknown, _args: unknown, output: string) => {
      if (output !== '') text = output
    },
  )
  const args: Record<string, unknown> & Globals = {
    ...unshield(read),
    config: read.config as string | undefined,
    json: read.json === true,
  }
  // `--yes=3` says how many
  for (const name of ['yes', 'dryRun']) if (typeof args[name] !== 'string') args[name] = args[name] === true
  // somebody who does not know yet what there is
  if (argv.length === 0) text = await parser.getHelp()
  if (text !== null) {
    const help = text === versionText() ? text : `${text}\n\n${exampleText(examplesOf(at))}`
    return { command: null, args, text: help }
  }
  if (at.command === null) return nothingToRun(at)
  refuseOddValues(at.command, args)
  return { command: at.command, args, text: null }
}
