/**
 * NAME      fields - what a setup can say of each kind of thing: the one table of it
 *   Data only: names as they stand in the files, their types, and what can be changed in place. What is called as in the
 *   record of the thing is of the type that the record says (`as`). What they mean, and the
 *   verbs that make, change and remove, are in kinds.ts; what is allowed in them, the checks of tenant/ and webhook/
 *   say, which every door uses. The order is that of making: what is named stands before what names it.
 */
import { type Member, type Members, settingsOf } from '../resource/member.js'
import { PERSON } from '../resource/people.js'
import { KEY, POOL, WORKSPACE } from '../resource/tenants.js'
import { WEBHOOK } from '../resource/webhook.js'
import type { ManagedKind } from '../store/port/tenants.js'

/** A list: one of these. `nullable` is a text, or null to take it away; `map` is of texts, `files` of files; `dkim` a list of keys. */
export type FieldType =
  | 'text'
  | 'nullable'
  | 'file'
  | 'number'
  | 'boolean'
  | 'texts'
  | 'map'
  | 'files'
  | 'dkim'
  | readonly string[]

interface Field {
  readonly type: FieldType
  /** It is what it was when it was made; another value is another object. */
  readonly isFixed?: true
  /** A file that holds a secret, or comes to: never shown, and exported as FILL-IN. */
  readonly isSecret?: true
  /** A list of them is a thing for each, `NAME/VALUE`. */
  readonly isEach?: true
  /** The record has it under the same name and in the same form. Any other member of the record means something else. */
  readonly isOfRecord?: true
}

interface Section {
  readonly section: string
  /** Whether `WORKSPACE/` stands before the name. */
  readonly within: 'never' | 'always' | 'optional'
  readonly fields: Readonly<Record<string, Field>>
  /** The command that removes one, where --prune never does. */
  readonly removedBy: string | null
}

const typeOf = ({ type, words, none }: Member): FieldType => {
  if (words !== undefined) return words
  if (type === 'flag') return 'boolean'
  if (type === 'whole') return 'number'
  return type === 'list' ? 'texts' : none ? 'nullable' : 'text'
}

/** Fields that are as the record has them. */
const as = (record: Members, ...names: readonly string[]): Readonly<Record<string, Field>> =>
  Object.fromEntries(
    names.map((name) => {
      const member = record[name]
      if (member === undefined) throw new Error(`the record has no member ${name}`)
      return [name, { type: typeOf(member), isOfRecord: true }]
    }),
  )

/** What people set of it. */
const namesSet = (record: Members): readonly string[] => settingsOf(record).map(({ name }) => name)

const fixed = (fields: Readonly<Record<string, Field>>): Readonly<Record<string, Field>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, { ...field, isFixed: true }]))

const MODE = fixed(as(KEY, 'mode'))
const SECRET = {
  secret_file: { type: 'file', isFixed: true, isSecret: true },
  /** Where a new secret is written to. */
  out: { type: 'file', isFixed: true, isSecret: true },
} as const

export const SECTIONS: Readonly<Record<ManagedKind, Section>> = {
  pool: {
    section: 'pools',
    within: 'never',
    fields: {
      upstreams: { type: 'texts' },
      ...as(POOL, ...namesSet(POOL)),
    },
    removedBy: null,
  },
  workspace: {
    section: 'workspaces',
    within: 'never',
    fields: {
      ...as(WORKSPACE, 'name', ...namesSet(WORKSPACE)),
      pool: { type: 'text' },
      routes: { type: 'map' },
      alarms: { type: 'map' },
      statistics_tags: { type: 'texts' },
      suppress_soft: { type: 'map' },
    },
    removedBy: 'postern workspace delete',
  },
  domain: {
    section: 'domains',
    within: 'never',
    fields: {
      workspace: { type: 'text', isFixed: true },
      dkim: { type: 'dkim', isFixed: true, isSecret: true },
    },
    removedBy: null,
  },
  key: {
    section: 'keys',
    within: 'optional',
    fields: {
      ...fixed(as(KEY, 'mode', 'permission', 'rate_limit_per_minute')),
      expires_at: { type: 'text', isFixed: true },
      ...SECRET,
      /** Where its access key for clients of SES is written to. */
      ses_out: { type: 'file', isSecret: true },
    },
    removedBy: null,
  },
  credential: {
    section: 'credentials',
    within: 'always',
    fields: {
      username: { type: 'text', isFixed: true },
      cidr: { type: 'text', isFixed: true, isEach: true },
      certificate_fingerprint: { type: 'text', isFixed: true },
      ...MODE,
      secret_file: SECRET.secret_file,
    },
    removedBy: null,
  },
  webhook: {
    section: 'webhooks',
    within: 'optional',
    fields: {
      ...as(WEBHOOK, 'endpoint', 'events', 'domains', ...namesSet(WEBHOOK).filter((name) => name !== 'rate')),
      tags: { type: 'texts' },
      /** `rate` of the record. */
      replay_rate: { type: 'number' },
      ...fixed(as(WEBHOOK, 'format')),
      auth_file: { type: 'file', isSecret: true },
      header_files: { type: 'files', isSecret: true },
      ...MODE,
      ...SECRET,
    },
    removedBy: null,
  },
  suppressions: {
    section: 'suppressions',
    within: 'never',
    fields: { file: { type: 'file' }, test_file: { type: 'file' } },
    removedBy: 'postern suppression remove',
  },
  person: {
    section: 'people',
    within: 'never',
    fields: as(PERSON, 'role', 'name'),
    removedBy: 'postern user update --disable',
  },
}

export const KIND_NAMES = Object.keys(SECTIONS) as readonly ManagedKind[]
