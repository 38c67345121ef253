/**
 * NAME      reference - the manual of the settings, and settings as text
 *   Walks the schema, so that the manual cannot lag behind it: `postern config reference` prints every key with its
 *   meaning, its default, what it may be and the environment variable that sets it. `printConfig` is the inverse of
 *   reading: the effective settings in the form of the file, secrets masked.
 */
import type Joi from 'joi'
import { Document, isPair, isScalar, isSeq, visit } from 'yaml'
import type { Config } from './config.js'
import { formatDuration, formatSize } from './forms.js'
import { originOf } from './load.js'
import { isSecretKey } from './problem.js'
import { schema } from './schema.js'
import { variableOf } from './variables.js'

interface Setting {
  /** Dotted; `submission[]` stands for each item of a list. */
  readonly key: string
  readonly description: string
  /** What it may be, in words. */
  readonly form: string
  /** As one would write it in the file; null for a group. */
  readonly preset: string | null
  readonly variable: string | null
}

type Description = Joi.Description & {
  readonly keys?: Record<string, Description>
  readonly items?: readonly Description[]
  readonly allow?: readonly unknown[]
}

const described: Description = schema.describe()

const metaOf = (node: Description): Record<string, unknown> =>
  Object.assign({}, ...(node.metas ?? [])) as Record<string, unknown>

const flagsOf = (node: Description): { readonly description?: string; readonly default?: unknown } =>
  (node.flags ?? {}) as { description?: string; default?: unknown }

const inUnit = (unit: unknown, value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => inUnit(unit, item))
  if (typeof value !== 'number') return value
  return unit === 'duration' ? formatDuration(value) : unit === 'size' ? formatSize(value) : value
}

const presetOf = (node: Description): string => {
  const { shown, unit } = metaOf(node)
  if (shown !== undefined) return String(shown)
  const preset = inUnit(unit, flagsOf(node).default)
  return typeof preset === 'string' ? preset : JSON.stringify(preset ?? null)
}

const formOf = (node: Description): string => {
  const { unit } = metaOf(node)
  const only = node.allow?.filter((value) => value !== null)
  if (only !== undefined && only.length > 0) return only.join(' | ')
  if (node.type === 'array') return unit === undefined ? 'list' : `list of ${String(unit)}s`
  if (unit !== undefined) return String(unit)
  return node.type === 'string' ? 'text' : node.type === 'object' ? 'group' : (node.type ?? 'any')
}

const walk = (node: Description, key: string): Setting[] => {
  const inList = key.includes('[]')
  const here: Setting = {
    key,
    description: flagsOf(node).description ?? '',
    form: formOf(node),
    preset: node.type === 'object' ? null : presetOf(node),
    variable: node.type === 'object' || inList ? null : variableOf(key),
  }
  const children = Object.entries(node.keys ?? {}).flatMap(([name, child]) =>
    walk(child, key === '' ? name : `${key}.${name}`),
  )
  const item = node.items?.find(({ type }) => type === 'object')
  const items = item === undefined ? [] : walk(item, `${key}[]`).slice(1)
  return [...(key === '' ? [] : [here]), ...children, ...items]
}

export const settings = (): readonly Setting[] => walk(described, '')

export const configReference = (): string =>
  settings()
    .map(({ key, description, form, preset, variable }) => {
      const facts = [
        form,
        ...(preset === null ? [] : [`default ${preset}`]),
        ...(variable === null ? [] : [variable]),
      ]
      return preset === null
        ? `${key}\n    ${description}.`
        : `${key}\n    ${description}.\n    ${facts.join(' · ')}`
    })
    .join('\n\n')
    .concat('\n')

const unitOf = (path: readonly string[]): unknown => {
  let node: Description | undefined = described
  for (const part of path) node = node?.keys?.[part] ?? node?.items?.[0]
  return node === undefined ? undefined : metaOf(node).unit
}

const plain = (value: unknown, path: readonly string[]): unknown => {
  if (isSecretKey(path.join('.')) && value !== null) return '***'
  const unit = unitOf(path)
  if (unit !== undefined) return inUnit(unit, value)
  if (Array.isArray(value)) return value.map((item, i) => plain(item, [...path, String(i)]))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part, [...path, name])]))
}

/** The settings as people write them: durations and sizes with units, secrets masked. */
export const plainConfig = (config: Config): Record<string, unknown> =>
  plain(config, []) as Record<string, unknown>

/** What is in force, in the form of the file; a comment tells where each value that is no default was written. */
export const printConfig = (config: Config): string => {
  const document = new Document(plainConfig(config))
  visit(document, {
    Scalar(key, node, ancestors) {
      if (key === 'key') return
      const origin = originOf(config, pathTo(ancestors, node).join('.'))
      if (origin !== null) node.comment = ` ${origin}`
    },
  })
  return document.toString()
}

const pathTo = (ancestors: readonly unknown[], node: unknown): readonly string[] => {
  const chain = [...ancestors, node]
  return chain.flatMap((one, i) => {
    if (isPair(one)) return [String(isScalar(one.key) ? one.key.value : one.key)]
    return isSeq(one) ? [String(one.items.indexOf(chain[i + 1]))] : []
  })
}

interface Origin {
  readonly key: string
  readonly value: unknown
  /** `file:line:column`, a variable or a flag; null for a default. */
  readonly origin: string | null
}

const leaves = (value: unknown, key: string): readonly (readonly [string, unknown])[] =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([name, part]) => leaves(part, key === '' ? name : `${key}.${name}`))
    : [[key, value]]

export const origins = (config: Config): readonly Origin[] =>
  leaves(plainConfig(config), '').map(([key, value]) => ({ key, value, origin: originOf(config, key) }))

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The settings as a table in Markdown, for config/README.md. */
export const settingsTable = (): string =>
  [
    '| setting | default | meaning |',
    '|---|---|---|',
    ...settings().map(({ key, description, form, preset }) =>
      preset === null
        ? `| **${key}** | | ${cell(description)} |`
        : `| ${key} | \`${cell(preset)}\` | ${cell(description)}${/^(text|number|boolean|list)$/.test(form) ? '' : ` (${cell(form)})`} |`,
    ),
  ].join('\n')
