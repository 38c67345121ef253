/**
 * NAME      config - the settings, checked, printed and explained
 *   `check` tells every mistake at once, each with file:line:column, the key,
 *   what stands there and what was expected; then what `serve` would refuse.
 */

import { readManagementToken } from '../config/forms.js'
import { providerFileProblems } from '../config/identity.js'
import { type Inspected, inspectConfig, isWithin, originOf } from '../config/load.js'
import { ConfigError, type ConfigProblem, inLineOrder } from '../config/problem.js'
import {
  configReference,
  origins,
  plainConfig,
  printConfig,
  settings,
  settingsTable,
} from '../config/reference.js'
import { safetyDoubts, safetyProblems } from '../config/safety.js'
import { loadCertificate } from '../keys/certificate.js'
import { rulesIn } from '../outcome/rules.js'
import { command, type Subject } from './command.js'
import { configOf } from './context.js'
import { tableOf } from './table.js'

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
const problemsOf = async (file: string | undefined): Promise<readonly ConfigProblem[]> => {
  let inspected: Inspected
  try {
    inspected = inspectConfig({ file: file ?? null, env: process.env })
  } catch (error) {
    return mistakesOf(() => {
      throw error
    })
  }
  const { config, problems } = inspected
  const found = [
    ...safetyProblems(config),
    ...(await mistakesOf(() => rulesIn(config.bounce.rules_file))),
    ...(await mistakesOf(() => readManagementToken(config.management.token_file))),
  ]
  if (!isWithin('identity', problems)) found.push(...providerFileProblems(config.identity))
  const { cert_file, key_file, certificates } = config.tls
  if ((cert_file !== null && key_file !== null) || certificates.length > 0)
    found.push(...(await mistakesOf(() => loadCertificate(config))))
  const further = found
    .filter(({ key }) => !isWithin(key, problems))
    .map((one) => ({ ...one, where: one.where ?? originOf(config, one.key) }))
  return inLineOrder([...problems, ...further])
}

/** What a reader of further files complains about. */
const mistakesOf = async (read: () => unknown): Promise<readonly ConfigProblem[]> => {
  try {
    await read()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

const check = command({
  usage: 'check',
  summary: 'Find every mistake, each with its line; exit 78 when there is one',
  examples: [['$0 config check --config /etc/postern/postern.yaml', '']],
  run: async (args, terminal) => {
    const problems = await problemsOf(args.config)
    terminal.data(problems.map(problemRecord), () =>
      problems.length === 0 ? '' : new ConfigError(problems).message,
    )
    if (problems.length === 0) {
      for (const { key, value, expected, remedy } of safetyDoubts(configOf(args)))
        terminal.say(`warning: ${key}: ${value}: ${expected}; ${remedy}`)
      terminal.say('the configuration is good')
      return 0
    }
    terminal.say(
      `postern: ${problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`}; postern config reference explains each key`,
    )
    return 78
  },
})

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const originsTable = tableOf<ReturnType<typeof origins>[number]>([
  ['setting', 'key'],
  ['value', ({ value }) => valueText(value)],
  ['comes from', ({ origin }) => origin ?? 'default'],
])

const print = command({
  usage: 'print',
  summary: 'The effective configuration, secrets masked, and where each value comes from',
  options: {
    origins: { type: 'boolean', describe: 'A row for each setting: its value, and the place it comes from' },
  },
  examples: [['$0 config print --origins', '']],
  run: async (args, terminal) => {
    const config = configOf(args)
    if (args.origins !== true) return terminal.data(plainConfig(config), () => printConfig(config))
    const rows = origins(config)
    terminal.data(rows, (paint) => originsTable(paint, rows))
  },
})

const reference = command({
  usage: 'reference',
  summary: 'The manual of all settings',
  options: { markdown: { type: 'boolean', describe: 'As the table that stands in config/README.md' } },
  examples: [['$0 config reference | less', '']],
  run: async (args, terminal) =>
    terminal.data(settings(), () => (args.markdown === true ? settingsTable() : configReference())),
})

export const configSubject: Subject = { name: 'config', commands: [check, print, reference] }
