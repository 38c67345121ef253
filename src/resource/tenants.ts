/**
 * NAME      tenants - workspaces, pools, API keys, SMTP credentials and suppressed addresses
 *   No hash and no secret stands in a record; that of a new key is told once, beside its record. An address of `status`
 *   pending waits for the decision of its incident, and suppresses nobody.
 */
import { toRfc3339 } from '../base/clock.js'
import { partsOfEntry } from '../lifecycle/suppress.js'
import type { WarmupState } from '../lifecycle/warmup.js'
import { ALARMS, type Alarm, type AlarmLimit, causeRecord, limitOf } from '../store/port/alarms.js'
import {
  type CredentialRow,
  KEY_PERMISSIONS,
  type KeyRow,
  type KeyScope,
  type KnownPool,
  SUPPRESSION_ORIGINS,
  type SuppressionRow,
  type UpstreamRow,
  type WorkspaceRow,
} from '../store/port/tenants.js'
import type { PendingSuppression } from '../store/port/watch.js'
import {
  constant,
  flag,
  id,
  list,
  MANAGED,
  number,
  own,
  type Rights,
  record,
  recordsOf,
  text,
  time,
  whole,
  words,
} from './member.js'

/** The public part of a key, safe to show: `svc_live_` and the lookup id. */
export const keyPrefix = (row: Pick<KeyRow, 'mode' | 'lookup'>): string => `svc_${row.mode}_${row.lookup}`

/** What clients of SES call it; null where it signs nothing. */
export const sesAccessKey = ({ lookup, sesSalt }: Pick<KeyRow, 'lookup' | 'sesSalt'>): string | null =>
  sesSalt === null ? null : `PSTN${lookup}`

/** As those clients read it from their environment. */
export const sesVariables = (row: Pick<KeyRow, 'lookup' | 'sesSalt'>, secret: string): string =>
  `AWS_ACCESS_KEY_ID=${sesAccessKey(row)}\nAWS_SECRET_ACCESS_KEY=${secret}`

export const MODES = ['live', 'test'] as const

const USES = {
  last_used_at: time({ none: true }),
  last_used_from: text({ none: true, says: 'The address of that use' }),
}

export const KEY = {
  id: id('key'),
  object: constant('api_key'),
  name: text(),
  mode: words(MODES),
  scope: words(['platform', 'workspace']),
  workspace_id: text({ none: true }),
  prefix: text({ of: keyPrefix }),
  created_at: time(),
  ...USES,
  expires_at: time({ none: true }),
  rate_limit_per_minute: whole({ none: true }),
  permission: words(KEY_PERMISSIONS, {
    says: '`sending_access`: it only sends; `reading_access`: it only reads',
  }),
  ses_access_key_id: text({ none: true, of: sesAccessKey, says: 'With it clients of Amazon SES sign' }),
  managed: MANAGED,
}
export const keyRecord = recordsOf<KeyRow>()(KEY)

interface Made {
  readonly row: KeyRow
  readonly secret: string
  /** What clients of SES sign with; null where it signs nothing. */
  readonly sesSecret: string | null
}

/** The secrets are known at creation only; `token` is what Resend's client calls it. */
export const createdKeyRecord = ({ row, secret, sesSecret }: Made) => {
  const { created_at, last_used_at, last_used_from, ...rest } = keyRecord(row)
  const { expires_at, rate_limit_per_minute, permission, ses_access_key_id, managed, ...head } = rest
  const times = { created_at, last_used_at, last_used_from, expires_at }
  const ses = { ses_access_key_id, ses_secret_access_key: sesSecret }
  return { ...head, secret, token: secret, ...times, rate_limit_per_minute, permission, ...ses, managed }
}

export const rotatedKeyRecord = ({ before, ...made }: Made & { readonly before: KeyRow }) => ({
  ...createdKeyRecord(made),
  replaces: keyRecord(before),
})

export const CREDENTIAL = {
  id: id('cred'),
  object: constant('credential'),
  workspace_id: id('ws'),
  mode: words(MODES),
  username: text({ none: true }),
  cidr: text({ none: true }),
  certificate_fingerprint: text({ none: true }),
  imported: flag(),
  created_at: time(),
  ...USES,
  managed: MANAGED,
}
export const credentialRecord = recordsOf<CredentialRow>()(CREDENTIAL)

const DAYS = 'On so many days with mail there is a limit'

export const UPSTREAM = {
  id: id('up'),
  service: words(['ses', 'mailgun'], { none: true, says: 'Takes mail by HTTPS; null: a mail server' }),
  host: text(),
  region: words(['us', 'eu'], { none: true, says: 'Where Mailgun keeps the domain; null: us' }),
  port: whole(),
  tls: words(['none', 'opportunistic', 'required', 'verify', 'implicit']),
  state: words(['active', 'paused', 'draining']),
  fingerprint: text({ none: true }),
  has_auth: flag({ of: ({ user }: UpstreamRow) => user !== null }),
  has_oauth: flag({ of: ({ oauth }: UpstreamRow) => oauth != null, says: 'Signs in by tokens' }),
  auth_mechanism: text({ none: true }),
  has_ca: flag({ of: ({ caFile }: UpstreamRow) => caFile != null }),
  has_client_certificate: flag({ of: ({ clientCertFile }: UpstreamRow) => clientCertFile !== null }),
  bind: list(null, { none: true }),
  helo: text({ none: true }),
  warmup: record({ first: whole(), days: whole({ says: DAYS }) }, { none: true }),
  weight: whole(),
  priority: whole(),
  max_connections: whole(),
  messages_per_connection: whole(),
  rate: number({ none: true }),
}
const upstream = recordsOf<UpstreamRow>()(UPSTREAM)

/** How the warm-up of an upstream stands today. */
export const WARMUP = {
  first: whole(),
  days: whole({ says: DAYS }),
  day: whole({ says: 'Which day with mail it is, from 1; greater than `days`: it is over' }),
  used: whole({ says: 'Recipients of today' }),
  limit: whole({ none: true, says: 'How many they may be today; null: any number' }),
  started_at: time({ none: true, says: 'When it was given the first; null: none yet' }),
  past: list(
    {
      at: time(),
      used: whole({ says: 'Recipients of that day' }),
      limit: whole({ none: true, says: 'How many they might have been' }),
    },
    { says: 'Its days with mail, in UTC, the oldest first' },
  ),
}
export const warmupRecord = recordsOf<WarmupState>()(WARMUP)

export const POOL = {
  id: id('pool'),
  object: constant('egress_pool'),
  name: text(),
  kind: words(['relay', 'sandbox']),
  return_path: words(['verp', 'fixed'], {
    set: {
      option: 'A signed return path for each recipient, or one for all',
      label: 'Return path',
      choices: { verp: 'signed, one per recipient: bounces are matched by it', fixed: 'one for all' },
      values: { verp: 'signed, one per recipient', fixed: 'one for all' },
    },
  }),
  notify_success: flag({
    set: {
      option: 'Ask upstreams for delivery reports (RFC 3461)',
      label: 'Reports of delivery',
      choices: { true: 'asked of the upstreams (RFC 3461)', false: 'not asked' },
      values: { true: 'asked of the upstreams', false: 'not asked' },
    },
  }),
  relayed_means: words(['delivered', 'sent'], {
    set: {
      option: 'What a "relayed" report makes of a mail',
      label: 'A report “relayed” makes a mail',
      choices: { sent: 'sent', delivered: 'delivered' },
      fact: '“relayed” means',
    },
  }),
  follows: text({
    none: true,
    says:
      "Id of the pool whose upstreams this one uses, having no members: the default workspace's. " +
      'Their limits, state and pauses are shared; `return_path`, `notify_success` and `relayed_means` are those of that pool. ' +
      'Null: its own members',
  }),
  members: list(UPSTREAM, { from: 'upstreams' }),
  created_at: time(),
  updated_at: time(),
  managed: MANAGED,
}
export const poolRecord = recordsOf<KnownPool>()(POOL)

/** One member of a pool, as it stands in the pool's record, and which pool that is. */
export const upstreamRecord = (known: KnownPool, row: UpstreamRow) => ({
  ...upstream(row),
  egress_pool_id: known.id,
})

const limit = (of: AlarmLimit | 'off') => (of === 'off' ? of : { rate: of.rate, at_least: of.atLeast })

const limitsOf = ({ alarms }: WorkspaceRow) =>
  Object.fromEntries(ALARMS.map((alarm) => [alarm, limit(limitOf(alarms, alarm))])) as Readonly<
    Record<Alarm, ReturnType<typeof limit>>
  >

const standing = ({ alarmed }: WorkspaceRow) =>
  ALARMS.flatMap((alarm) => {
    const raised = alarmed[alarm]
    if (raised === undefined) return []
    const { since, count, tried, cause } = raised
    return [{ alarm, since: toRfc3339(since), count, tried, cause: causeRecord(cause) }]
  })

const routesOf = ({ routes }: WorkspaceRow) =>
  routes.map(({ domain, poolId }) => ({ domain, egress_pool_id: poolId }))

export const WORKSPACE = {
  id: id('ws'),
  object: constant('workspace'),
  name: text(),
  slug: text(),
  is_default: flag(),
  egress_pool_id: text({ none: true, from: 'poolId' }),
  routes: own({ of: routesOf }),
  default_from: text({ none: true, set: {} }),
  restrict_senders: flag({
    set: {
      option: 'Only the verified sending domains may send',
      label: 'Only its verified sending domains may send',
      fact: 'Senders',
      values: { true: 'only its verified domains', false: 'any' },
    },
  }),
  sender_dsn: flag({
    set: {
      option: 'Send delivery reports back to the submitting sender',
      label: 'Tell the sender of an SMTP mail by a delivery report what became of it',
      fact: 'Delivery reports to SMTP senders',
    },
  }),
  line_endings: words(['normalize', 'strict'], {
    says: 'Bare CR or LF in mail that comes by SMTP is mended, as in a new workspace, or refused',
    set: {
      option: 'Mend bare CR and LF in SMTP mail, as a new workspace does, or refuse it',
      label: 'Bare CR or LF in SMTP mail',
      choices: { normalize: 'Mend it', strict: 'Refuse it' },
      values: { normalize: 'mended', strict: 'refused' },
    },
  }),
  ambiguous: words(['retry', 'hold'], {
    says: 'What becomes of a mail of which nobody knows after a crash whether it was sent',
    set: {
      option: 'What to do with a mail that may have been sent, after a crash',
      label: 'After a crash, mail that may have been sent',
      choices: { retry: 'Try again: it may arrive twice', hold: 'Hold it until somebody looks' },
      values: { retry: 'is tried again', hold: 'is held' },
    },
  }),
  alarms: own({ of: limitsOf }),
  on_alarm: words(['notify', 'hold'], {
    says: 'What an alarm does beside its event: nothing, or hold the mail of the workspace until somebody releases it',
    set: {},
  }),
  alarmed: own({ of: standing }),
  suppress_soft: own(),
  statistics: own({ of: ({ statisticsTags }: WorkspaceRow) => ({ tags: statisticsTags }) }),
  suspended: flag({ of: ({ suspendedAt }: WorkspaceRow) => suspendedAt !== null }),
  suspended_at: time({ none: true }),
  suspended_reason: text({ none: true, says: 'Not told to the keys of the workspace' }),
  created_at: time(),
  managed: MANAGED,
}
const known = recordsOf<WorkspaceRow>()(WORKSPACE)

/** Why it is suspended is for whoever runs this, not for the tenant. */
export const workspaceRecord = (row: WorkspaceRow, scope: KeyScope = 'platform') =>
  known(scope === 'platform' ? row : { ...row, suspendedReason: null })

type Suppressed = SuppressionRow | PendingSuppression

const incidentOf = (row: Suppressed): string | null => ('incidentId' in row ? row.incidentId : null)

export const SUPPRESSION = {
  id: id('sup'),
  object: constant('suppression'),
  email: text({ of: ({ email }: Suppressed) => partsOfEntry(email).email }),
  list: text({
    optional: true,
    of: ({ email }: Suppressed) => partsOfEntry(email).mailingList,
    says: 'Only mail of this mailing list is suppressed; absent: all mail is',
  }),
  origin: words(SUPPRESSION_ORIGINS),
  source_id: text({ none: true }),
  reason: text({ optional: true }),
  expires_at: time({ optional: true }),
  /** Of what counts in every workspace of its account. */
  scope: words(['account'], {
    optional: true,
    of: ({ list, accountId }: Suppressed) => (list === accountId ? ('account' as const) : null),
  }),
  status: words(['pending'], {
    optional: true,
    of: (row: Suppressed) => (incidentOf(row) === null ? null : ('pending' as const)),
    says: 'It suppresses nobody until its incident is decided',
  }),
  incident_id: text({ optional: true, of: incidentOf }),
  created_at: time(),
}
export const suppressionRecord = recordsOf<Suppressed>()(SUPPRESSION)
export type Suppression = ReturnType<typeof suppressionRecord>

export const WORKSPACE_RIGHTS = {
  createWorkspace: 'member',
  listWorkspaces: 'viewer',
  getWorkspace: 'viewer',
  updateWorkspace: 'member',
  deleteWorkspace: 'owner',
} as const satisfies Rights

export const POOL_RIGHTS = {
  createEgressPool: 'member',
  listEgressPools: 'viewer',
  getEgressPool: 'viewer',
  getEgressPoolHealth: 'viewer',
  testEgressPool: 'member',
  updateEgressPool: 'member',
  deleteEgressPool: 'member',
} as const satisfies Rights

export const KEY_RIGHTS = {
  createApiKey: 'member',
  listApiKeys: 'viewer',
  rotateApiKey: 'member',
  revokeApiKey: 'member',
  createCredential: 'member',
  listCredentials: 'viewer',
  revokeCredential: 'member',
} as const satisfies Rights

export const SUPPRESSION_RIGHTS = {
  addSuppression: 'member',
  addSuppressions: 'member',
  listSuppressions: 'viewer',
  getSuppression: 'viewer',
  removeSuppression: 'member',
  removeSuppressions: 'member',
} as const satisfies Rights
