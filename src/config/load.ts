/**
 * NAME      load - from file, environment and flags to one frozen Config
 * DESCRIPTION
 *   Flags win over the environment, that over the file, that over the defaults.
 *   The environment is handed in: only daemon.ts and cli/ look at the real one.
 *   Throws ConfigError with every mistake. Relative paths in the file are taken
 *   from the folder of the file, so that every command finds the same data
 *   wherever it is called from.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type Joi from 'joi'
import type { Config } from './config.js'
import { ConfigError, type ConfigProblem, closest, expectation, shownValue } from './problem.js'
import { SUBMISSION_DEFAULT, schema } from './schema.js'
import { CREDENTIALS, type FileText, readSources, type Sourced } from './source.js'

export const DEFAULT_FILE = '/etc/postern/postern.yaml'

type Words = Readonly<Record<string, string | undefined>>

export interface ConfigSources {
  /** `--config`; else $POSTERN_CONFIG, else /etc/postern/postern.yaml if there is one, else the defaults. */
  readonly file?: string | null | undefined
  readonly env?: Words | undefined
  /** Dotted keys: `{'http.port': '0'}`. */
  readonly flags?: Words | undefined
}

/** The file that these sources name, or null: built-in defaults. */
const fileOf = ({ file, env }: ConfigSources): FileText | null => {
  const named = file ?? env?.POSTERN_CONFIG
  const name = named === undefined || named === '' ? DEFAULT_FILE : named
  try {
    return { name, text: readFileSync(name, 'utf8') }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && name !== named) return null
    const remedy = code === 'ENOENT' ? 'name another file with --config' : null
    throw new ConfigError([
      { where: name, key: '', value: null, expected: `cannot be read: ${code ?? message}`, remedy },
    ])
  }
}

export const loadConfig = (sources: ConfigSources = {}): Config =>
  readConfig(fileOf(sources), sources.env ?? {}, sources.flags ?? {})

/** The same from a text at hand. */
export const readConfig = (file: FileText | null, env: Words = {}, flags: Words = {}): Config => {
  const sourced = readSources(file, env, flags, DEFAULTS)
  if (sourced.problems.length > 0) throw new ConfigError(sourced.problems)
  const { value, error } = schema.validate(sourced.tree, { abortEarly: false, errors: { label: 'path' } })
  if (error !== undefined) throw new ConfigError(error.details.map((detail) => problemOf(detail, sourced)))
  return freeze(
    complete(value as Config, file === null ? '.' : dirname(file.name), env.CREDENTIALS_DIRECTORY),
  )
}

const problemOf = (detail: Joi.ValidationErrorItem, sourced: Sourced): ConfigProblem => {
  const key = detail.path.join('.')
  if (detail.type === 'object.unknown') {
    const guess = closest(String(detail.path.at(-1)), siblingsOf(detail.path))
    return {
      where: sourced.whereIs(detail.path, 'key'),
      key,
      value: null,
      expected: 'is not a setting',
      remedy: guess === null ? 'postern config reference lists them all' : `did you mean ${guess}?`,
    }
  }
  return {
    where: sourced.whereIs(detail.path, 'value'),
    key,
    value: shownValue(key, detail.context?.value),
    expected: expectation(detail),
    remedy: null,
  }
}

const siblingsOf = (path: Joi.ValidationErrorItem['path']): readonly string[] => {
  let node: unknown = DEFAULTS
  for (const part of path.slice(0, -1)) node = (node as Record<string, unknown> | undefined)?.[part]
  return Object.keys(node ?? SUBMISSION_DEFAULT[0] ?? {})
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Where the API is reached when nobody said otherwise. */
export const ownUrl = ({ host, port, tls }: Pick<Config['http'], 'host' | 'port' | 'tls'>): string =>
  `${tls ? 'https' : 'http'}://${urlHost(host)}:${port}`

/** Where systemd puts the credentials of our unit; a command outside of it is told of the same files. */
const UNIT_CREDENTIALS = '/run/credentials/postern.service'

/** Fills in what depends on other settings, and makes paths absolute. */
const complete = (config: Config, folder: string, credentials = UNIT_CREDENTIALS): Config => {
  const { http, bounce, tls, store } = config
  const path = (name: string | null): string | null => {
    if (name?.startsWith(CREDENTIALS)) return join(credentials, name.slice(CREDENTIALS.length))
    return name === null ? null : resolve(folder, name)
  }
  return {
    ...config,
    base_url: config.base_url ?? ownUrl(http),
    data_dir: resolve(folder, config.data_dir),
    pepper_file: path(config.pepper_file),
    bounce: {
      ...bounce,
      domain: bounce.domain ?? config.hostname,
      rules_file: path(bounce.rules_file ?? null),
    },
    tls: { cert_file: path(tls.cert_file), key_file: path(tls.key_file) },
    store: { ...store, url_file: path(store.url_file) },
  }
}

const freeze = <T extends object>(value: T): T => {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freeze(part)
  return Object.freeze(value)
}

const presets = schema.validate({}).value as Config

/** The defaults, with every name that there is: for lists in part, and for guessing what was meant. */
const DEFAULTS: Record<string, unknown> = {
  ...presets,
  base_url: null,
  bounce: { ...presets.bounce, domain: null },
}
