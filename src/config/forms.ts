/**
 * NAME      forms - the forms that settings come in, and files that a setting names
 *   What more than one part of the schema is made of: URLs, files, groups, durations and sizes. People write those as `90s`,
 *   `5m`, `1h30m`; `25MiB`, `64kB`, or a bare number of bytes. A bare number is no duration: nobody agrees on its unit.
 */
import { readFileSync, statSync } from 'node:fs'
import Joi from 'joi'
import { ConfigError } from './problem.js'

const MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const BYTES: Record<string, number> = {
  b: 1,
  kb: 1000,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
}

/** Milliseconds, or null when the text is no duration. */
export const parseDuration = (text: string): number | null => {
  const bare = text.trim().toLowerCase()
  if (bare === '0') return 0
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(bare)) return null
  let sum = 0
  for (const [, count, unit] of bare.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    sum += Number(count) * (MS[unit ?? ''] ?? Number.NaN)
  }
  return Number.isSafeInteger(Math.round(sum)) ? Math.round(sum) : null
}

/** Bytes, or null when the text is no size. */
export const parseSize = (text: string): number | null => {
  const parts = /^(\d+(?:\.\d+)?)\s*([kmg]i?b|b)?$/i.exec(text.trim())
  if (parts === null) return null
  const bytes = Math.round(Number(parts[1]) * (BYTES[(parts[2] ?? 'b').toLowerCase()] ?? Number.NaN))
  return Number.isSafeInteger(bytes) ? bytes : null
}

const inUnits = (value: number, units: readonly (readonly [string, number])[], fallback: string): string => {
  const unit = units.find(([, size]) => value >= size && value % size === 0)
  return unit === undefined ? `${value}${fallback}` : `${value / unit[1]}${unit[0]}`
}

/** 300000 becomes `5m`. */
export const formatDuration = (ms: number): string =>
  ms === 0
    ? '0'
    : inUnits(
        ms,
        ['d', 'h', 'm', 's'].map((unit) => [unit, MS[unit] ?? 1] as const),
        'ms',
      )

/** 26214400 becomes `25MiB`. */
export const formatSize = (bytes: number): string =>
  inUnits(
    bytes,
    [
      ['GiB', 1024 ** 3],
      ['MiB', 1024 ** 2],
      ['KiB', 1024],
    ],
    '',
  )

export const DAY = 86_400_000
export const HOUR = 3_600_000
export const MINUTE = 60_000

type Unit = 'duration' | 'size'
interface Bounds {
  readonly min: number
  readonly max?: number
}
const READ = { duration: parseDuration, size: parseSize }

const boundsText = (unit: Unit, { min, max }: Bounds): string => {
  const shown = unit === 'duration' ? formatDuration : formatSize
  return max === undefined ? `at least ${shown(min)}` : `${shown(min)} to ${shown(max)}`
}

/** A number that people write with a unit. Defaults and bounds are given as the number. */
const quantity = (unit: Unit, bounds: Bounds): Joi.NumberSchema => {
  const read = (value: unknown, helpers: Joi.CustomHelpers) => {
    const text = typeof value === 'string' || (unit === 'size' && typeof value === 'number') ? `${value}` : ''
    const number = READ[unit](text)
    if (number === null) return helpers.error(`quantity.${unit}`)
    if (number < bounds.min || number > (bounds.max ?? Number.MAX_SAFE_INTEGER))
      return helpers.error('quantity.bounds', { bounds: boundsText(unit, bounds) })
    return number
  }
  return Joi.any().custom(read).meta({ unit, bounds }) as unknown as Joi.NumberSchema
}

export const duration = (min: number, max?: number) =>
  quantity('duration', max === undefined ? { min } : { min, max })
export const size = (min: number, max?: number) =>
  quantity('size', max === undefined ? { min } : { min, max })

export const orNull = (form: Joi.Schema, says: string) =>
  form.allow(null).default(null).description(says) as never

export const orEmpty = (form: Joi.ArraySchema, says: string) => form.default([]).description(says) as never

export const file = (says: string) => orNull(Joi.string(), says)

export const flag = (says: string, value = false) => Joi.boolean().default(value).description(says)

export const readUrl = (value: string, helpers: Joi.CustomHelpers) => {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    return helpers.error('url.form')
  if (url.username !== '' || url.password !== '') return helpers.error('url.login')
  return value.replace(/\/+$/, '')
}

/** A group of which every line is commented out is null in YAML, and as good as absent. */
export const group = (schema: Joi.ObjectSchema, text: string) =>
  schema.empty(null).default().description(text)

/** One of these words; the first is the default. */
export const choice = (words: readonly [string, ...string[]], text: string) =>
  Joi.string()
    .valid(...words)
    .default(words[0])
    .description(text)

export const refuse = (key: string, value: string, expected: string, remedy: string): ConfigError =>
  new ConfigError([{ where: null, key, value, expected, remedy }])

export const readText = (key: string, name: string): string => {
  try {
    return readFileSync(name, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw refuse(key, name, `cannot be read: ${code}`, 'name a file that this user may read')
  }
}

/** Without the line end. `remedy` is for a file that is empty. Throws ConfigError. */
export const secretIn = (key: string, name: string, remedy: string): string => {
  const text = readText(key, name).trim()
  if ((statSync(name).mode & 0o007) !== 0)
    throw refuse(key, name, 'the secret can be read by everybody', `run: chmod o= ${name}`)
  if (text === '') throw refuse(key, name, 'is empty', remedy)
  return text
}

const LEAST = 16

/** What opens the management listener from elsewhere; null: no token does. Throws ConfigError. */
export const readManagementToken = (name: string | null): string | null => {
  if (name === null) return null
  const remedy = `run: openssl rand -hex 32 > ${name}`
  const token = secretIn('management.token_file', name, remedy)
  if (token.length < LEAST || /\s/.test(token))
    throw refuse('management.token_file', name, `holds no token of at least ${LEAST} characters`, remedy)
  return token
}
