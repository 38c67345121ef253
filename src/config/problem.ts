/**
 * NAME      problem - what is wrong with a configuration, and what to do
 *   A mistake says where it stands, what stands there, what was expected and how to mend it. All mistakes are reported
 *   at once: nobody should have to start a daemon five times to find five typing errors.
 */
import type Joi from 'joi'
import { editDistance, escapeText } from '../base/text.js'

export interface ConfigProblem {
  /** `postern.yaml:3:9`, `POSTERN_HTTP__PORT`, `--http.port`, or null. */
  readonly where: string | null
  /** Dotted, such as `submission.0.tls`; empty for the file as a whole. */
  readonly key: string
  /** What stands there, short and quoted, or null. */
  readonly value: string | null
  readonly expected: string
  readonly remedy: string | null
}

/** A key may be anything that somebody mistyped. */
const shownKey = (key: string): string => escapeText(key.length > 80 ? `${key.slice(0, 77)}...` : key)

const line = ({ where, key, value, expected, remedy }: ConfigProblem): string => {
  const subject = [where, shownKey(key)].filter((part) => part !== null && part !== '').join(': ')
  const found = value === null ? '' : `, found ${value}`
  return `${subject}: ${expected}${found}${remedy === null ? '' : `; ${remedy}`}`
}

/** The configuration can not be used. The command line ends with 78 (EX_CONFIG). */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(line).join('\n'))
    this.problems = problems
  }
}

const placeOf = ({ where }: ConfigProblem): readonly [number, number] => {
  const [, line, column] = /:(\d+):(\d+)$/.exec(where ?? '') ?? []
  return line === undefined ? [Number.POSITIVE_INFINITY, 0] : [Number(line), Number(column)]
}

/** As one reads the file; what stands elsewhere comes after. */
export const inLineOrder = (problems: readonly ConfigProblem[]): readonly ConfigProblem[] =>
  problems
    .map((one) => ({ one, at: placeOf(one) }))
    .sort(({ at: a }, { at: b }) => (a[0] === b[0] ? a[1] - b[1] : a[0] < b[0] ? -1 : 1))
    .map(({ one }) => one)

const EXPECTED: Record<string, (context: Joi.Context) => string> = {
  'any.only': ({ valids }) => `expected one of ${(valids as readonly unknown[]).join(', ')}`,
  'any.invalid': () => 'is taken',
  'any.required': () => 'is required',
  'array.base': () => 'expected a list',
  'array.min': ({ limit }) => `expected at least ${limit} in the list`,
  'array.unique': () => 'has the name of another one in this list',
  'boolean.base': () => 'expected true or false',
  'issuer.form': () => 'expected the https URL of the provider, without ? and # (http on loopback only)',
  'scopes.openid': () => 'expected openid among them: without it there is no ID token',
  'string.pattern.name': ({ name }) => `expected ${name}`,
  'name.ascii': () => 'expected ASCII, as it travels in SMTP: xn--mnchen-3ya.de for münchen.de',
  'range.form': () => 'expected an address or a range such as 10.0.0.0/8',
  'resolver.form': () => 'expected an address such as 127.0.0.1:53 or [::1]:53',
  'sender.form': () => 'expected an address such as Acme <no-reply@acme.test>, on one line',
  'url.login': () => 'expected a URL without user name and password',
  'host.form': () => 'expected an IP address or a host name',
  'number.base': () => 'expected a number',
  'number.integer': () => 'expected a whole number',
  'number.max': ({ limit }) => `expected at most ${limit}`,
  'number.min': ({ limit }) => `expected at least ${limit}`,
  'object.base': () => 'expected a group of settings',
  'quantity.bounds': ({ bounds }) => `expected ${bounds}`,
  'quantity.duration': () => 'expected a duration such as 90s, 5m, 4h or 5d',
  'quantity.size': () => 'expected a size such as 64KiB or 25MiB',
  'string.domain': () => 'expected a domain such as example.com',
  'string.email': () => 'expected a mail address',
  'string.base': () => 'expected text',
  'string.empty': () => 'must not be empty',
  'string.hostname': () => 'expected a host name such as mail.example.com',
  'url.form': () => 'expected an http or https URL such as https://mail.example.com',
}

export const expectation = ({ type, context, message }: Joi.ValidationErrorItem): string =>
  EXPECTED[type]?.(context ?? {}) ?? message

/** A found value as it may be shown: short, quoted, and masked where its key smells of a secret. */
export const shownValue = (key: string, value: unknown): string | null => {
  if (value === undefined) return null
  if (isSecretKey(key)) return '***'
  // even where no URL belongs, its password is none of the log's business
  const text = escapeText(JSON.stringify(value) ?? String(value)).replace(
    /(:\/\/[^/\s:@"]*):[^/\s@"]+@/g,
    '$1:***@',
  )
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

/** A key whose value is a secret itself; one that names a file holds none. */
export const isSecretKey = (key: string): boolean =>
  /(?:secret|password|token|pepper)(?!.*_file$)/i.test(key.split('.').at(-1) ?? '')

/** The known name that was probably meant, or null. */
export const closest = (name: string, known: readonly string[]): string | null => {
  const lower = name.toLowerCase()
  const begun = known.find((word) => lower.length > 2 && word.startsWith(lower))
  if (begun !== undefined) return begun
  const best = known
    .map((word) => ({ word, away: editDistance(lower, word) }))
    .sort((a, b) => a.away - b.away)[0]
  return best !== undefined && best.away <= Math.min(2, best.word.length - 2) ? best.word : null
}
