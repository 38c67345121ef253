/**
 * NAME      load - from file, environment and flags to one frozen Config
 *   Flags win over the environment, that over the file, that over the defaults. The environment is handed in: only
 *   daemon/ and cli/ look at the real one. Throws ConfigError with every mistake. Relative paths in the file are taken
 *   from the folder of the file, so that every command finds the same data wherever it is called from.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type Joi from 'joi'
import type { Config, ListenAddress, Proxied } from './config.js'
import { formatDuration } from './forms.js'
import { providerKeys } from './identity.js'
import { ConfigError, type ConfigProblem, closest, expectation, inLineOrder, shownValue } from './problem.js'
import { SUBMISSION_DEFAULT, schema } from './schema.js'
import { CREDENTIALS, type FileText, type Path, readSources, type Sourced } from './settings-file.js'
import { decideBy, isVariable } from './variables.js'

interface Conflict {
  readonly path: readonly (string | number)[]
  /** The setting that it does not go with. */
  readonly against: readonly (string | number)[]
  readonly value: unknown
  readonly expected: string
}

const listeners = (config: Config): readonly (readonly [path: Conflict['path'], at: ListenAddress])[] => [
  [['http'], config.http],
  [['management'], config.management],
  [['bounce'], config.bounce],
  ...config.submission.map((one, i) => [['submission', i], one] as const),
]

const isWild = (host: string): boolean => host === '0.0.0.0' || host === '::'

const takenPorts = (config: Config): readonly Conflict[] => {
  const all = listeners(config)
  return all.flatMap(([path, { host, port }], i) => {
    const first = all
      .slice(0, i)
      .find(([, one]) => one.port === port && (one.host === host || isWild(one.host) || isWild(host)))
    if (port === 0 || first === undefined) return []
    return [
      {
        path: [...path, 'port'],
        against: [...first[0], 'port'],
        value: port,
        expected: `is the port of ${first[0].join('.')} already`,
      },
    ]
  })
}

/** A header from anybody could claim any address. */
const proxies = (config: Config): readonly Conflict[] => {
  const doors: readonly (readonly [Conflict['path'], Proxied])[] = [
    [['bounce'], config.bounce],
    ...config.submission.map((one, i) => [['submission', i], one] as const),
  ]
  return doors.flatMap(([path, { proxy_protocol, trusted_proxies }]) =>
    proxy_protocol && trusted_proxies.length === 0
      ? [
          {
            path: [...path, 'proxy_protocol'],
            against: [...path, 'trusted_proxies'],
            value: true,
            expected: `needs ${[...path, 'trusted_proxies'].join('.')}, the addresses of the proxies`,
          },
        ]
      : [],
  )
}

const waits = ({ relay }: Config): readonly Conflict[] =>
  relay.retry.flatMap((wait, i) =>
    wait <= relay.lifetime
      ? []
      : [
          {
            path: ['relay', 'retry', i],
            against: ['relay', 'lifetime'],
            value: formatDuration(wait),
            expected: `expected at most relay.lifetime, ${formatDuration(relay.lifetime)}: no such attempt would be made`,
          },
        ],
  )

const keeping = ({ retention: { bodies, emails } }: Config): readonly Conflict[] =>
  bodies <= emails
    ? []
    : [
        {
          path: ['retention', 'bodies'],
          against: ['retention', 'emails'],
          value: formatDuration(bodies),
          expected: `expected at most retention.emails, ${formatDuration(emails)}: a body goes with its mail`,
        },
      ]

/** It would come in again by the door that hands it on. */
const circles = ({ bounce: { domain, postmaster } }: Config): readonly Conflict[] =>
  postmaster?.replace(/>$/, '').toLowerCase().endsWith(`@${domain.toLowerCase()}`)
    ? [
        {
          path: ['bounce', 'postmaster'],
          against: ['bounce', 'domain'],
          value: postmaster,
          expected: 'expected an address of another domain than bounce.domain: its mail would go round',
        },
      ]
    : []

const database = ({ store: { driver, url_file, pooler } }: Config): readonly Conflict[] => {
  if (driver === 'postgres' && url_file === null)
    return [
      {
        path: ['store', 'driver'],
        against: ['store', 'url_file'],
        value: driver,
        expected: 'needs store.url_file, a file with the URL of the database',
      },
    ]
  if (driver === 'postgres' || pooler === 'none') return []
  return [
    {
      path: ['store', 'pooler'],
      against: ['store', 'driver'],
      value: pooler,
      expected: 'needs store.driver postgres: there is no pooler before a file',
    },
  ]
}

/** Who has the store to itself carries all of its mail. */
const served = ({ store: { driver }, relay: { pools } }: Config): readonly Conflict[] =>
  driver !== 'postgres' && pools !== null
    ? [
        {
          path: ['relay', 'pools'],
          against: ['store', 'driver'],
          value: pools,
          expected: 'needs store.driver postgres: nobody else would carry the mail of the other pools',
        },
      ]
    : []

/** Settings that are each good and do not go together: shared ports, proxies, waits, retention. */
const conflictsIn = (config: Config): readonly Conflict[] => [
  ...takenPorts(config),
  ...proxies(config),
  ...circles(config),
  ...waits(config),
  ...keeping(config),
  ...database(config),
  ...served(config),
]

export const DEFAULT_FILE = '/etc/postern/postern.yaml'

type Words = Readonly<Record<string, string | undefined>>

interface ConfigSources {
  /** `--config`; else $POSTERN_CONFIG, else /etc/postern/postern.yaml if there is one, else the defaults. */
  readonly file?: string | null | undefined
  readonly env?: Words | undefined
  /** Dotted keys: `{'http.port': '0'}`. */
  readonly flags?: Words | undefined
}

const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: 'name another file with --config',
  EACCES: 'use a user who may read it: sudo -u postern postern ...',
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
    const remedy = REMEDIES[code ?? ''] ?? null
    throw new ConfigError([
      { where: name, key: '', value: null, expected: `cannot be read: ${code ?? message}`, remedy },
    ])
  }
}

/** The settings in force, frozen; throws ConfigError with every mistake. */
export const loadConfig = (sources: ConfigSources = {}): Config => flawless(inspectConfig(sources))

/** The same from a text at hand. */
export const readConfig = (file: FileText | null, env: Words = {}, flags: Words = {}): Config =>
  flawless(inspect(file, env, flags))

export interface Inspected {
  /** The settings that are good, and defaults in place of the others. */
  readonly config: Config
  readonly problems: readonly ConfigProblem[]
}

/** Every mistake, and what can be looked at further all the same; throws ConfigError only for a file that can not be read. */
export const inspectConfig = (sources: ConfigSources = {}): Inspected =>
  inspect(fileOf(sources), sources.env ?? {}, sources.flags ?? {})

const flawless = ({ config, problems }: Inspected): Config => {
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

const OPTIONS: Joi.ValidationOptions = { abortEarly: false, errors: { label: 'path' } }

const inspect = (file: FileText | null, env: Words, flags: Words): Inspected => {
  const sourced = readSources(file, env, flags, DEFAULTS)
  decideBy((key) => isByVariable(key, sourced, file !== null))
  const { value, error } = schema.validate(sourced.tree, OPTIONS)
  const details = error?.details ?? []
  const wrong = details.map((detail) => problemOf(detail, sourced))
  const good = (
    details.length === 0 ? value : schema.validate(without(sourced.tree, details), OPTIONS).value
  ) as Config
  const problems = [...sourced.problems, ...wrong]
  const clashes = conflictsOf(good, sourced, problems)
  const config = freeze(complete(good, file === null ? '.' : dirname(file.name), env.CREDENTIALS_DIRECTORY))
  SOURCES.set(config, { sourced, file: file?.name ?? null })
  return { config, problems: inLineOrder([...problems, ...clashes]) }
}

/** True when a setting, or the group around it, or a part of it, is known to be wrong. */
export const isWithin = (key: string, problems: readonly ConfigProblem[]): boolean =>
  problems.some(
    (one) => one.key !== '' && (`${key}.`.startsWith(`${one.key}.`) || `${one.key}.`.startsWith(`${key}.`)),
  )

/** The tree without its mistakes; a list goes whole where one of its values is wrong. */
const without = (tree: unknown, details: readonly Joi.ValidationErrorItem[]): unknown => {
  const pruned = structuredClone(tree)
  for (const { path } of details) {
    const whole = typeof path.at(-1) === 'number' ? path.slice(0, -1) : path
    let node = pruned as Record<string, unknown> | undefined
    for (const part of whole.slice(0, -1)) node = node?.[part] as Record<string, unknown> | undefined
    if (typeof node === 'object' && node !== null) delete node[String(whole.at(-1))]
  }
  return pruned
}

interface Origin {
  readonly sourced: Sourced
  readonly file: string | null
}

/** Where the settings of each loaded configuration were written. */
const SOURCES = new WeakMap<Config, Origin>()

/** Every setting by its dotted name; of a list `submission.0.tls`. */
const isSetting = (path: Path): boolean => {
  let node: unknown = { ...DEFAULTS, submission: SUBMISSION_DEFAULT }
  for (const part of path) {
    if (typeof node !== 'object' || node === null || !(part in node)) return false
    node = (node as Record<string | number, unknown>)[part]
  }
  return true
}

/** It came from a variable, or from nowhere, and there is no file to write it to. */
const isByVariable = (key: string, sourced: Sourced, hasFile: boolean): boolean => {
  const path = pathOf(key)
  const origin = writtenAt(sourced, path)
  return isSetting(path) && (origin === null ? !hasFile : isVariable(origin))
}

/** The file that was read; null: there was none. */
export const fileOfConfig = (config: Config): string | null => SOURCES.get(config)?.file ?? null

/** `file:line:column`, the variable or the flag that a setting comes from; null for a default. */
export const originOf = (config: Config, key: string): string | null => {
  const sourced = SOURCES.get(config)?.sourced
  if (sourced === undefined) return null
  return writtenAt(sourced, pathOf(key))
}

const pathOf = (key: string): Path => key.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))

/** The place of a value that somebody wrote; null when it is a default, whatever was written around it. */
const writtenAt = (sourced: Sourced, path: Path): string | null => {
  let node: unknown = sourced.tree
  for (const part of path) node = (node as Record<string | number, unknown> | null | undefined)?.[part]
  return node === undefined ? null : sourced.whereIs(path, 'value')
}

/** A default that clashes with what somebody wrote is no mistake of theirs: it gives way. Only ports do not. */
const conflictsOf = (
  config: Config,
  sourced: Sourced,
  known: readonly ConfigProblem[],
): readonly ConfigProblem[] =>
  conflictsIn(config).flatMap(({ path, against, value, expected }) => {
    const where = writtenAt(sourced, path)
    if (where === null && path.at(-1) !== 'port') return []
    // a default in place of a mistake clashes with nobody
    if ([path, against].some((one) => isWithin(one.join('.'), known))) return []
    return [{ where, key: path.join('.'), value: JSON.stringify(value), expected, remedy: null }]
  })

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
  if (node === undefined && path[0] === 'identity') return providerKeys()
  return Object.keys(node ?? SUBMISSION_DEFAULT[0] ?? {})
}

/** A zone (`fe80::1%eth0`) means something on this machine only, and nothing in a URL. */
const urlHost = (host: string): string => (host.includes(':') ? `[${host.replace(/%.*/, '')}]` : host)

/** Where the API is reached when nobody said otherwise. */
export const ownUrl = ({ host, port, tls }: Pick<Config['http'], 'host' | 'port' | 'tls'>): string =>
  `${tls ? 'https' : 'http'}://${urlHost(host)}:${port}`

/** Where systemd puts the credentials of our unit; a command outside of it is told of the same files. */
const UNIT_CREDENTIALS = '/run/credentials/postern.service'

/** Fills in what depends on other settings, and makes paths absolute. */
const complete = (config: Config, folder: string, credentials = UNIT_CREDENTIALS): Config => {
  const { http, management, bounce, store, tls, identity } = config
  const path = (name: string | null): string | null => {
    if (name?.startsWith(CREDENTIALS)) return join(credentials, name.slice(CREDENTIALS.length))
    return name === null ? null : resolve(folder, name)
  }
  return {
    ...config,
    base_url: config.base_url ?? ownUrl(http),
    data_dir: resolve(folder, config.data_dir),
    pepper_file: path(config.pepper_file),
    management: { ...management, token_file: path(management.token_file) },
    bounce: {
      ...bounce,
      domain: bounce.domain ?? config.hostname,
      rules_file: path(bounce.rules_file ?? null),
    },
    store: { ...store, url_file: path(store.url_file) },
    setup: config.setup.map((one) => path(one) ?? one),
    tls: {
      cert_file: path(tls.cert_file),
      key_file: path(tls.key_file),
      certificates: tls.certificates.map(({ cert_file, key_file }) => ({
        cert_file: path(cert_file) ?? '',
        key_file: path(key_file) ?? '',
      })),
    },
    identity: {
      ...identity,
      oidc: identity.oidc.map((one) => ({
        ...one,
        client_secret_file: path(one.client_secret_file ?? null),
        ca_file: path(one.ca_file ?? null),
      })),
    },
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
