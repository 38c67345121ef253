/**
 * NAME      sentence - an entry of the audit as somebody would say it
 */
import type { AuditEntry } from '../../../record/tenants/identity.js'
import type { Visit } from '../../visit.js'

/** What actions begin with, as people call it. */
export const NAMES: Readonly<Record<string, string>> = {
  workspace: 'workspace',
  api_key: 'API key',
  credential: 'SMTP credential',
  egress_pool: 'pool',
  domain: 'domain',
  suppression: 'suppression',
  webhook: 'webhook',
  hold: 'hold',
  queue: 'waiting mail',
  email: 'mail',
  user: 'person',
  invitation: 'invitation',
  setup_link: 'setup link',
  session: 'session',
  job: 'job',
  lot: 'lot',
  pepper: 'pepper',
  database: 'database',
}

const DID: Readonly<Record<string, string>> = {
  created: 'made',
  updated: 'changed',
  signed_in: 'signed in:',
  signed_out: 'signed out:',
}

/** Acts that people have a plain word for. */
const PLAIN: Readonly<Record<string, string>> = {
  'second_factor.added': 'added a second factor of',
  'second_factor.removed': 'removed a second factor of',
  'second_factor.reset': 'took the second factors of',
  'recovery_codes.replaced': 'made new recovery codes of',
  'recovery_code.used': 'used a recovery code of',
  'invitation.created': 'invited',
  'invitation.revoked': 'took back the invitation of',
  'invitation.accepted': 'took the invitation of',
  'session.revoked': 'ended the session of',
  'suppression.accepted': 'suppressed those refused together at',
  'suppression.dismissed': 'let live those refused together at',
}

/** What is counted in mails. */
const OF_MAILS = new Set(['queue', 'hold', 'workspace', 'job', 'lot', 'email'])

/** Members of the detail that name what it is about, the best first. */
const NAMED = [
  'name',
  'slug',
  'user',
  'email',
  'username',
  'cidr',
  'certificate_fingerprint',
  'domain',
  'address',
  'pool',
  'url',
  'prefix',
]

const nameIn = ({ detail, target }: AuditEntry): string => {
  for (const member of NAMED) {
    const value = detail[member]
    if (typeof value === 'string' && value !== '') return value
  }
  return target.id ?? ''
}

/** A new role is what one looks for in an audit. */
const roleIn = ({ detail: { role } }: AuditEntry): string =>
  role !== null && typeof role === 'object' ? `, role ${valueWords(role)}` : ''

export const didWhat = (entry: AuditEntry): { readonly did: string; readonly whom: string } => {
  const [type = '', act = ''] = entry.action.split('.')
  const verb = DID[act] ?? act.replaceAll('_', ' ')
  const { changed: count, user } = entry.detail
  const changed =
    typeof count === 'number'
      ? ` (${OF_MAILS.has(type) ? (count === 1 ? '1 mail' : `${count} mails`) : count})`
      : ''
  // of oneself
  if (entry.action === 'session.created' && typeof user === 'string') return { did: 'signed in', whom: user }
  return {
    did: PLAIN[entry.action] ?? `${verb} the ${NAMES[type] ?? type.replaceAll('_', ' ')}`,
    whom: `${nameIn(entry)}${changed}${roleIn(entry)}`,
  }
}

const PAGES: Readonly<Record<string, string>> = {
  workspace: '/workspaces',
  egress_pool: '/pools',
  webhook: '/webhooks',
  email: '/emails',
  user: '/settings/people',
}

/** The page of what it is about, where there is one. */
export const linkOf = (visit: Visit, { type, id }: AuditEntry['target']): string | null => {
  const path = PAGES[type]
  return path === undefined || id === null ? null : visit.link(`${path}/${encodeURIComponent(id)}`)
}

const plain = (value: unknown): string => {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value)
}

/** A value, or what it was and is. */
export const valueWords = (value: unknown): string => {
  if (value !== null && typeof value === 'object' && 'before' in value && 'after' in value)
    return `${plain(value.before)} → ${plain(value.after)}`
  return plain(value)
}
