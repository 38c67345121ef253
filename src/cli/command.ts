/**
 * NAME      command - one verb of the command line, as a value
 *   A command says its usage, its options and what it does; yargs, the manual page and the shell completion are all
 *   made from that one value, so they can not disagree. Commands with a subject (`workspace list`) are grouped in a
 *   Subject; those without (`serve`) stand alone.
 */
import type { ArgumentsCamelCase, InferredOptionTypes, Options, PositionalOptions } from 'yargs'
import { camelName } from '../base/text.js'
import { isWithin, type settingsOf } from '../resource/member.js'
import { type ExitCode, usage } from './exit.js'
import type { Terminal } from './terminal.js'

/** What every command takes. */
export interface Globals {
  readonly config: string | undefined
  readonly json: boolean
}

/** What a command that destroys takes besides. */
export interface Consent {
  readonly yes: boolean
  readonly dryRun: boolean
}

type Named<T> = Readonly<Record<string, T>>

export interface Command {
  /** As yargs reads it: `create <name>`. */
  readonly usage: string
  readonly summary: string
  readonly positionals: Named<PositionalOptions>
  readonly options: Named<Options>
  readonly examples: readonly (readonly [command: string, meaning: string])[]
  readonly destroys: boolean
  run(args: unknown, terminal: Terminal): Promise<ExitCode | undefined>
}

export interface Subject {
  readonly name: string
  readonly commands: readonly Command[]
}

/** A line of the catalog: its file is only loaded when its word stands on the command line. */
export interface CatalogEntry {
  /** The subject's word, or the first word of a command without a subject. */
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<Subject | Command>
}

export type Catalog = readonly CatalogEntry[]

type Positional<P extends PositionalOptions> = P extends { array: true; demandOption: true }
  ? string[]
  : P extends { array: true }
    ? string[] | undefined
    : P extends { demandOption: true }
      ? string
      : string | undefined

/** What a command is given of these options. */
export type OptionArgs<O extends Named<Options>> = ArgumentsCamelCase<InferredOptionTypes<O>>

type ArgsOf<P extends Named<PositionalOptions>, O extends Named<Options>> = Globals &
  Consent & { readonly [key in keyof P]: Positional<P[key]> } & OptionArgs<O>

interface Spec<P extends Named<PositionalOptions>, O extends Named<Options>> {
  readonly usage: string
  readonly summary: string
  readonly positionals?: P
  readonly options?: O
  readonly examples?: Command['examples']
  readonly destroys?: boolean
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands simply return
  run(args: ArgsOf<P, O>, terminal: Terminal): Promise<ExitCode | void>
}

/** Describes a command; the types of its arguments follow from its options. */
export const command = <const P extends Named<PositionalOptions>, const O extends Named<Options>>(
  spec: Spec<P, O>,
): Command => ({
  usage: spec.usage,
  summary: spec.summary,
  positionals: spec.positionals ?? {},
  options: spec.options ?? {},
  examples: spec.examples ?? [],
  destroys: spec.destroys ?? false,
  run: async (args, terminal) => (await spec.run(args as ArgsOf<P, O>, terminal)) ?? undefined,
})

interface SpecWith<P extends Named<PositionalOptions>, O extends Named<Options>, C>
  extends Omit<Spec<P, O>, 'run'> {
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands simply return
  run(context: C, args: ArgsOf<P, O>, terminal: Terminal): Promise<ExitCode | void>
}

/** Describes commands that all work with the same: it is opened for them, and closed behind them. */
export const commandWith =
  <C>(
    open: <T>(args: Globals & { readonly reason?: unknown }, use: (context: C) => Promise<T>) => Promise<T>,
  ) =>
  <const P extends Named<PositionalOptions> = Named<never>, const O extends Named<Options> = Named<never>>({
    run,
    ...spec
  }: SpecWith<P, O, C>): Command =>
    command<P, O>({
      ...spec,
      run: (args, terminal) => open(args, (context) => run(context, args, terminal)),
    })

/** Of what needs no reason. */
export const WHY = {
  reason: { type: 'string', describe: 'Why; it stands in the audit', requiresArg: true },
} as const satisfies Named<Options>

type Settings = ReturnType<typeof settingsOf>

const asked = (settings: Settings): Settings => settings.filter(({ option }) => option !== undefined)

const wordsOf = (name: string, between: string): string => name.replaceAll('_', between)

/** The options by which members of a record are set; what is given has the names of rows, and is checked by the verb. */
// biome-ignore lint/complexity/noBannedTypes: their names are not known to the compiler
export const settingOptions = (settings: Settings): {} =>
  Object.fromEntries(
    asked(settings).map(({ name, type, words, option: describe }) => {
      const form = type === 'flag' ? 'boolean' : type === 'whole' ? 'number' : 'string'
      return [
        wordsOf(name, '-'),
        { describe, ...(words === undefined ? { type: form } : { choices: words }) },
      ]
    }),
  )

/** What of them was given; a number is in its range. */
export const settingArgs = (settings: Settings, args: object): Named<unknown> =>
  Object.fromEntries(
    asked(settings).flatMap(({ name, range }) => {
      const value = (args as Named<unknown>)[camelName(name)]
      if (value === undefined) return []
      if (range !== undefined && !isWithin(value, range))
        throw usage(`--${wordsOf(name, '-')}: ${value} is no whole number from ${range[0]} to ${range[1]}`)
      return [[camelName(name), value]]
    }),
  )

/** What of a record they set, for people. */
export const settingFields = (
  settings: Settings,
  record: Named<unknown>,
): readonly (readonly [string, unknown])[] =>
  asked(settings).map(({ name, type, shown = wordsOf(name, ' ') }) => [
    shown,
    type === 'flag' ? (record[name] ? 'yes' : 'no') : record[name],
  ])

export const GLOBAL_OPTIONS = {
  config: { type: 'string', describe: 'Configuration file', requiresArg: true },
  json: { type: 'boolean', describe: 'Print one JSON document' },
} as const satisfies Named<Options>

const CONSENT_OPTIONS = {
  yes: { type: 'boolean', describe: 'Do it without asking' },
  'dry-run': { type: 'boolean', describe: 'Only say what would be done' },
} as const satisfies Named<Options>

/** Every option of its own that a command takes. */
export const optionsOf = (one: Command): Named<Options> =>
  one.destroys ? { ...one.options, ...CONSENT_OPTIONS } : one.options

export const isSubject = (loaded: Command | Subject): loaded is Subject => 'commands' in loaded

/** The first word of a usage: `create` of `create <name>`. */
export const verbOf = (one: Command): string => one.usage.split(' ')[0] ?? ''
