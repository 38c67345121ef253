/**
 * NAME      refuse - what is wrong with a command line, in one line
 * DESCRIPTION
 *   Turns what yargs complains about into a sentence that names the word and the
 *   remedy. An unknown option or command is answered with the nearest known one.
 */
import { editDistance } from '../base/text.js'
import { type Catalog, type Command, GLOBAL_OPTIONS, optionsOf, type Subject, verbOf } from './command.js'
import { usage } from './exit.js'

/** How far the command line was understood. */
export interface Place {
  subject: Subject | null
  command: Command | null
}

/** The known word that was probably meant, or null. */
export const nearest = (word: string, known: readonly string[]): string | null => {
  const ranked = known
    .map((name) => ({ name, edits: name.startsWith(word) ? 0.5 : editDistance(word, name) }))
    .filter(({ name, edits }) => edits <= 1 + Math.floor(Math.min(name.length, word.length) / 3))
    .sort((a, b) => a.edits - b.edits)
  return ranked[0]?.name ?? null
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
  const [word = ''] = words
  if (at.command !== null) return usage(`unexpected argument ${word}; usage: ${usageOf(at)}`)
  const known = at.subject === null ? catalog.map(({ name }) => name) : at.subject.commands.map(verbOf)
  return unknown('command', word, known, at)
}

/** Throws the Refusal (64) that belongs to a complaint of yargs. */
export const refuse = (message: string, argv: readonly string[], at: Place, catalog: Catalog): never => {
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
