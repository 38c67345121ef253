/**
 * NAME      rules-file - a site's own bounce rules, as written
 *   Reads the YAML list that `bounce.rules_file` names and checks its shape:
 *     - category: policy
 *       enhanced: ['5.7.']        # a whole code, or a beginning that ends in a dot
 *       code: [554]
 *       text: no thanks           # regular expression, in any case
 *       unless: mailbox
 *   What the words mean is for mail/report/classify.ts to judge.
 */
import { readFileSync } from 'node:fs'
import Joi from 'joi'
import { parse } from 'yaml'
import { ConfigError } from './problem.js'

interface WrittenRule {
  readonly category: string
  readonly enhanced?: readonly string[]
  readonly code?: readonly number[]
  readonly text?: string
  readonly unless?: string
}

const several = (item: Joi.Schema) => Joi.array().items(item).min(1).single()

const shape = Joi.array<readonly WrittenRule[]>()
  .items(
    Joi.object({
      category: Joi.string().required(),
      enhanced: several(Joi.string().pattern(/^[245](?:\.\d{1,3}){0,2}\.?$/, 'enhanced code')),
      code: several(Joi.number().integer().min(400).max(599)),
      text: Joi.string().max(1000),
      unless: Joi.string().max(1000),
    }),
  )
  .required()

/** What is wrong with the file, in the form of every other mistake in the settings. */
export const rulesProblem = (name: string, expected: string, key = ''): ConfigError =>
  new ConfigError([{ where: name, key, value: null, expected, remedy: null }])

/** Throws ConfigError with every mistake. */
export const readRulesFile = (name: string): readonly WrittenRule[] => {
  let plain: unknown
  try {
    plain = parse(readFileSync(name, 'utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw rulesProblem(name, `cannot be read: ${code ?? message.split('\n')[0]}`)
  }
  const { value, error } = shape.validate(plain ?? [], { abortEarly: false, errors: { label: false } })
  if (error === undefined) return value
  throw new ConfigError(
    error.details.map(({ path, message }) => ({
      where: name,
      key: path.length === 0 ? 'rules' : `rule ${[Number(path[0]) + 1, ...path.slice(1)].join('.')}`,
      value: null,
      expected: message,
      remedy: null,
    })),
  )
}
