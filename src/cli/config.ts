/**
 * NAME      config - the settings, checked, printed and explained
 * DESCRIPTION
 *   `check` tells every mistake at once, each with file:line:column, the key,
 *   what stands there and what was expected; then what `serve` would refuse.
 */
import { loadConfig } from '../config/load.js'
import { ConfigError, type ConfigProblem } from '../config/problem.js'
import { configReference, plainConfig, printConfig, settings } from '../config/reference.js'
import { safetyProblems } from '../config/safety.js'
import { rulesIn } from '../outcome/rules.js'
import { command, type Subject } from './command.js'
import { configOf } from './context.js'

const problemRecord = ({ where, key, value, expected, remedy }: ConfigProblem) => {
  const [, file, line, column] = /^(.*):(\d+):(\d+)$/.exec(where ?? '') ?? []
  return {
    file: file ?? null,
    line: line === undefined ? null : Number(line),
    column: column === undefined ? null : Number(column),
    where,
    key,
    value,
    expected,
    remedy,
  }
}

/** The mistakes that these arguments lead to; empty is good. */
const problemsOf = (file: string | undefined): readonly ConfigProblem[] => {
  try {
    const config = loadConfig({ file: file ?? null, env: process.env })
    rulesIn(config.bounce.rules_file)
    return safetyProblems(config)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

const check = command({
  usage: 'check',
  summary: 'Find every mistake, each with its line; exit 78 when there is one',
  run: async (args, terminal) => {
    const problems = problemsOf(args.config)
    terminal.data(problems.map(problemRecord), () =>
      problems.length === 0 ? '' : new ConfigError(problems).message,
    )
    if (problems.length === 0) {
      terminal.say('the configuration is good')
      return 0
    }
    terminal.say(
      `postern: ${problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`}; postern config reference explains each key`,
    )
    return 78
  },
})

const print = command({
  usage: 'print',
  summary: 'The effective configuration, secrets masked',
  run: async (args, terminal) => {
    const config = configOf(args)
    terminal.data(plainConfig(config), () => printConfig(config))
  },
})

const reference = command({
  usage: 'reference',
  summary: 'The manual of all settings',
  run: async (_args, terminal) => terminal.data(settings(), () => configReference()),
})

export const configSubject: Subject = { name: 'config', commands: [check, print, reference] }
