/**
 * NAME      fields - what a setup can say of each kind of thing: the one table of it
 * DESCRIPTION
 *   Data only: names as they stand in the files, their types, and what can be changed in place. What they mean, and the
 *   verbs that make, change and remove, are in kinds.ts; what is allowed in them, the checks of tenant/ and webhook/
 *   say, which every door uses. The order is that of making: what is named stands before what names it.
 */
import { ROLES } from '../config/identity.js'
import type { ManagedKind } from '../store/port/setup.js'

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
}

interface Section {
  readonly section: string
  /** Whether `WORKSPACE/` stands before the name. */
  readonly within: 'never' | 'always' | 'optional'
  readonly fields: Readonly<Record<string, Field>>
  /** The command that removes one, where --prune never does. */
  readonly removedBy: string | null
}

const MODE = { type: ['live', 'test'], isFixed: true } as const
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
      return_path: { type: ['verp', 'fixed'] },
      notify_success: { type: 'boolean' },
      relayed_means: { type: ['delivered', 'sent'] },
    },
    removedBy: null,
  },
  workspace: {
    section: 'workspaces',
    within: 'never',
    fields: {
      name: { type: 'text' },
      pool: { type: 'text' },
      default_from: { type: 'nullable' },
      routes: { type: 'map' },
      ambiguous: { type: ['retry', 'hold'] },
      line_endings: { type: ['strict', 'normalize'] },
      sender_dsn: { type: 'boolean' },
      restrict_senders: { type: 'boolean' },
      alarms: { type: 'map' },
      on_alarm: { type: ['notify', 'hold'] },
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
      mode: MODE,
      permission: { type: ['full_access', 'sending_access'], isFixed: true },
      rate_limit_per_minute: { type: 'number', isFixed: true },
      expires_at: { type: 'text', isFixed: true },
      ...SECRET,
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
      mode: MODE,
      secret_file: SECRET.secret_file,
    },
    removedBy: null,
  },
  webhook: {
    section: 'webhooks',
    within: 'optional',
    fields: {
      endpoint: { type: 'text' },
      events: { type: 'texts' },
      domains: { type: 'texts' },
      tags: { type: 'texts' },
      fields: { type: ['full', 'thin'] },
      max_in_flight: { type: 'number' },
      replay_rate: { type: 'number' },
      header_files: { type: 'files', isSecret: true },
      mode: MODE,
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
    fields: { role: { type: ROLES }, name: { type: 'nullable' } },
    removedBy: 'postern user update --disable',
  },
}

export const KIND_NAMES = Object.keys(SECTIONS) as readonly ManagedKind[]
