/**
 * NAME      port/tenants - the store's verbs about who is who
 *   `example.com` is that domain alone, `.example.com` all domains under it. Of those that fit the longest
 *   counts; where none fits, it is the pool of the workspace. Domains are in lower case and in A-labels.
 *   Who is who: Accounts, workspaces, keys, credentials, pools, suppressions and the rate window: the rows and
 *   verbs behind tenant/ and relay/'s configuration. The rest of the port is in port/store.ts.
 *   Sending domains: A sending domain belongs to one workspace, or to all of its account. Its keys live in the
 *   row, their private halves sealed with the pepper by tenant/.
 */
import type { WindowCount } from '../../lifecycle/accept.js'
import type { Mode, Page, Rows } from '../../lifecycle/page.js'
import type { WarmupPlan } from '../../lifecycle/warmup.js'
import { domainOf } from '../../mail/address.js'
import type { DmarcCounts, DomainReportKind, TlsFailure } from '../../mail/report/domain-report.js'
import type { AlarmSettings, RaisedAlarms, SoftLimits } from './alarms.js'
import type { EventNotice } from './log.js'
import { bool, json, plain, type RowOf } from './row.js'

export interface DomainRoute {
  readonly domain: string
  readonly poolId: string
}

export interface Routing {
  readonly poolId: string
  readonly routes: readonly DomainRoute[]
}

export const poolFor = ({ poolId, routes }: Routing, address: string): string => {
  if (routes.length === 0) return poolId
  const domain = domainOf(address)
  let best: DomainRoute | null = null
  for (const route of routes) {
    const fits = route.domain.startsWith('.') ? domain.endsWith(route.domain) : domain === route.domain
    if (fits && route.domain.length > (best?.domain.length ?? 0)) best = route
  }
  return best?.poolId ?? poolId
}

/** Whether any mail of the workspace may go there. */
export const isRoutedTo = ({ poolId, routes }: Routing, id: string | undefined): boolean =>
  poolId === id || routes.some((route) => route.poolId === id)

export const ACCOUNT_ROW = {
  id: plain<string>(),
  name: plain<string>(),
  createdAt: plain<number>(),
}
export interface AccountRow extends RowOf<typeof ACCOUNT_ROW> {}

export const WORKSPACE_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  name: plain<string>(),
  slug: plain<string>(),
  isDefault: bool,
  poolId: plain<string>(),
  /** Pools of their own for domains of recipients. */
  routes: json<readonly DomainRoute[]>(),
  defaultFrom: plain<string | null>(),
  /** What to do with a mail whose fate a crash hid. */
  ambiguous: plain<'retry' | 'hold'>(),
  /** Bare CR or LF in submitted mail: refuse it, or mend it. */
  lineEndings: plain<'strict' | 'normalize'>(),
  /** Whether DSNs go back to the submitting SMTP sender. */
  senderDsn: bool,
  /** True limits senders to the workspace's verified sending domains. */
  restrictSenders: bool,
  /** Its own limits; what it leaves out is as ALARM_LIMITS. */
  alarms: json<AlarmSettings>(),
  /** What an alarm does beside telling. */
  onAlarm: plain<'notify' | 'hold'>(),
  /** Those that stand; only the store raises them. */
  alarmed: json<RaisedAlarms>(),
  /** Since when nothing is taken for it and what waits rests; null while it sends. */
  suspendedAt: plain<number | null>(),
  /** An operator's words, for operators. */
  suspendedReason: plain<string | null>(),
  /** Names of tags whose values statistics count apart. */
  statisticsTags: json<readonly string[]>(),
  /** When an address that bounces softly is suppressed; by default never. */
  suppressSoft: json<SoftLimits>(),
  createdAt: plain<number>(),
}
export interface WorkspaceRow extends RowOf<typeof WORKSPACE_ROW> {}

export type WorkspaceChange = Partial<
  Omit<
    WorkspaceRow,
    'id' | 'accountId' | 'isDefault' | 'alarmed' | 'suspendedAt' | 'suspendedReason' | 'createdAt'
  >
>

export type KeyScope = 'platform' | 'workspace'

/** `sending_access`: it sends mail, and neither reads nor changes anything. `reading_access`: it reads, and does neither. */
export const KEY_PERMISSIONS = ['full_access', 'sending_access', 'reading_access'] as const
export type KeyPermission = (typeof KEY_PERMISSIONS)[number]

export const KEY_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  name: plain<string>(),
  mode: plain<Mode>(),
  scope: plain<KeyScope>(),
  workspaceId: plain<string | null>(),
  /** The 12 public characters after `svc_live_`, by which a key is found. */
  lookup: plain<string>(),
  hash: plain<Uint8Array>(),
  createdAt: plain<number>(),
  lastUsedAt: plain<number | null>(),
  /** The address of that use; null where it is not known. */
  lastUsedFrom: plain<string | null>(),
  expiresAt: plain<number | null>(),
  rateLimitPerMinute: plain<number | null>(),
  permission: plain<KeyPermission>(),
  /** 32 random octets of which, and of the pepper, its secret for clients of SES is made; null: it signs nothing. */
  sesSalt: plain<Uint8Array | null>(),
}
export interface KeyRow extends RowOf<typeof KEY_ROW> {}

export const CREDENTIAL_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  workspaceId: plain<string>(),
  mode: plain<Mode>(),
  /** null for a credential without a password: a range, or a certificate. */
  username: plain<string | null>(),
  /** bcrypt over a SHA-256 of the secret; null where there is none. */
  hash: plain<string | null>(),
  cidr: plain<string | null>(),
  /** SHA-256 of a client certificate, hex. */
  certificateFingerprint: plain<string | null>(),
  imported: bool,
  createdAt: plain<number>(),
  lastUsedAt: plain<number | null>(),
  /** The address of that use; null where it is not known. */
  lastUsedFrom: plain<string | null>(),
}
export interface CredentialRow extends RowOf<typeof CREDENTIAL_ROW> {}

export type UpstreamTls = 'none' | 'opportunistic' | 'required' | 'verify' | 'implicit'

export type AuthMechanism = 'PLAIN' | 'LOGIN' | 'CRAM-MD5' | 'XOAUTH2' | 'OAUTHBEARER'

/** Where an upstream's tokens come from; what is not said is null, secrets are sealed as its password is. */
export interface OauthRow {
  /** A file with a token that somebody else keeps fresh; then there is nothing else. */
  readonly tokenFile: string | null
  /** The key file of a Google service account. */
  readonly serviceAccountFile: string | null
  readonly tokenUrl: string | null
  readonly clientId: string | null
  readonly sealedSecret: string | null
  readonly sealedRefreshToken: string | null
  readonly scope: string | null
}

export interface WarmupRow extends WarmupPlan {
  /** Under which it is counted; one that was taken away and set again is another. */
  readonly id: string
}

/** Services that take mail by HTTPS. */
export type UpstreamService = 'ses' | 'mailgun'

export interface UpstreamRow {
  readonly id: string
  /** Null or absent: a mail server. */
  readonly service?: UpstreamService | null
  /** Of a service, what it is asked by: the region of SES, the domain of Mailgun. */
  readonly host: string
  /** Where Mailgun keeps the domain; null or absent: us. */
  readonly region?: 'us' | 'eu' | null
  readonly port: number
  readonly tls: UpstreamTls
  /** SHA-256 of the peer certificate, hex, or null. */
  readonly fingerprint: string | null
  readonly user: string | null
  /** PEM file of the authorities to believe in place of the system's; absent in rows of older versions. */
  readonly caFile?: string | null
  /** Write-only from outside; sealed with the pepper by tenant/. */
  readonly sealedPassword: string | null
  /** The only one to sign in by; null or absent: what fits. */
  readonly authMechanism?: AuthMechanism | null
  /** Tokens in place of a password; absent in rows of older versions. */
  readonly oauth?: OauthRow | null
  /** Addresses of ours to connect from, IPv4 and IPv6; null or absent: as the system chooses. */
  readonly bind?: readonly string[] | null
  /** What EHLO says in place of `hostname`. */
  readonly helo?: string | null
  /** How much it may be given while it is new; null or absent: as much as there is. */
  readonly warmup?: WarmupRow | null
  readonly clientCertFile: string | null
  readonly clientKeyFile: string | null
  readonly weight: number
  readonly priority: number
  readonly maxConnections: number
  readonly messagesPerConnection: number
  /** Messages per second, or null for no limit. */
  readonly rate: number | null
  readonly state: 'active' | 'paused' | 'draining'
}

/** A pool as it is stored. */
export const POOL_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  name: plain<string>(),
  kind: plain<'relay' | 'sandbox'>(),
  returnPath: plain<'verp' | 'fixed'>(),
  notifySuccess: bool,
  relayedMeans: plain<'delivered' | 'sent'>(),
  upstreams: json<readonly UpstreamRow[]>(),
  createdAt: plain<number>(),
  updatedAt: plain<number>(),
}
export interface PoolRow extends RowOf<typeof POOL_ROW> {}

/** A pool as it is read. */
export interface KnownPool extends PoolRow {
  /**
   * Whose upstreams it uses, having none: those of the pool that the default workspace has now.
   * Null: its own. One step only; the default workspace's pool follows nobody.
   */
  readonly follows: string | null
}

/**
 * `soft_bounce`: it is not dead, and its workspace wants no more of it. `import`: of a list that does not say why;
 * one that does keeps what it says.
 */
export const SUPPRESSION_ORIGINS = [
  ...(['manual', 'bounce', 'soft_bounce', 'complaint', 'unsubscribe', 'import'] as const),
] as const

export const SUPPRESSION_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  /** As `suppressionList` names it. */
  list: plain<string>(),
  /** An entry (lifecycle/suppress.ts): an address, a whole domain, or an address for the mail of one mailing list. */
  email: plain<string>(),
  origin: plain<(typeof SUPPRESSION_ORIGINS)[number]>(),
  /** The event, email or job that caused it, or `import:` and whose list it was; else null. */
  sourceId: plain<string | null>(),
  reason: plain<string | null>(),
  expiresAt: plain<number | null>(),
  /** Of an import: since when it was on the list that was read. */
  createdAt: plain<number>(),
}
export interface SuppressionRow extends RowOf<typeof SUPPRESSION_ROW> {}

export type Written = 'done' | 'not_unique'

/** What an account begins with. */
export interface Beginning {
  readonly workspace: WorkspaceRow
  /** The workspace's own pool, and the sandbox. */
  readonly pools: readonly PoolRow[]
}

export interface Accounts {
  account(id: string): Promise<AccountRow | null>
  /** An account with its default workspace and its two pools, in one verb. */
  createAccount(account: AccountRow, beginning: Beginning): Promise<void>
  accounts(): Promise<readonly AccountRow[]>
  /** The mark of the pepper that this database belongs to; null before anybody said. */
  pepperMark(): Promise<string | null>
  /** `onlyFirst`: unless there is one. */
  setPepperMark(mark: string, onlyFirst?: boolean): Promise<void>
}

/** What waits where `from` had sent it goes where `to` sends it. */
export interface MovingMail {
  readonly accountId: string
  readonly from: Routing
  readonly to: Routing
  readonly now: number
}

export interface Workspaces {
  /** `own`: its pool, made with it; where the name is taken, it steps aside (`shop-2`). */
  createWorkspace(workspace: WorkspaceRow, own?: PoolRow): Promise<Written>
  /**
   * A pool without upstreams that no other workspace uses: the one that this workspace has, one of the
   * name that nobody has, or the given one, made now. Resolves with its id.
   */
  ownPool(workspaceId: string, fresh: PoolRow): Promise<string>
  /** Waiting mail moves, too, whatever is cut off. */
  updateWorkspace(id: string, change: WorkspaceChange, moving?: MovingMail): Promise<Written>
  /** From now on nothing of it leaves. Resolves with how many recipients it put to rest. */
  suspendWorkspace(workspace: WorkspaceRow, reason: string | null, now: number): Promise<number>
  /** Sets free what rested, with the lifetime that it had. Resolves with how many recipients. */
  resumeWorkspace(id: string, now: number): Promise<number>
  /**
   * Its keys and credentials end, its slug is free, and it is in no list. What waits is bounced or canceled, in
   * silence; the sweep erases bodies, subjects and addresses. Never the default one.
   */
  deleteWorkspace(
    accountId: string,
    id: string,
    reason: string,
    now: number,
  ): Promise<'done' | 'is_default' | 'not_found'>
  /** By id or slug, within an account. */
  workspace(accountId: string, ref: string): Promise<WorkspaceRow | null>
  /** All of the account, or `only` this one. */
  workspaces(accountId: string, page: Page, only?: string | null): Promise<Rows<WorkspaceRow>>
}

export interface Keys {
  createKey(key: KeyRow): Promise<void>
  keyByLookup(lookup: string): Promise<KeyRow | null>
  key(accountId: string, id: string): Promise<KeyRow | null>
  /** With a lookup only the key that has it. */
  keys(accountId: string, page: Page, lookup?: string | null): Promise<Rows<KeyRow>>
  /** Adds `next`, and the key of this id ends at `endsAt` or before; false when there was none, and then nothing is added. */
  rotateKey(accountId: string, id: string, next: KeyRow, endsAt: number): Promise<boolean>
  /** Removes a key for good; false when there was none. */
  revokeKey(accountId: string, id: string): Promise<boolean>
  /** Best effort, coalesced: never waits for the disk. */
  touch(kind: 'key' | 'credential' | 'session', id: string, at: number, from: string | null): void
}

export interface Credentials {
  createCredential(credential: CredentialRow): Promise<Written>
  /** All in one transaction; `taken` are the ids of those whose name is, and that were not made. */
  importCredentials(
    credentials: readonly CredentialRow[],
  ): Promise<{ readonly changed: number; readonly taken: readonly string[] }>
  credential(id: string): Promise<CredentialRow | null>
  credentialsByUsername(username: string): Promise<readonly CredentialRow[]>
  credentialsByRange(): Promise<readonly CredentialRow[]>
  credentialByCertificate(fingerprint: string): Promise<CredentialRow | null>
  credentials(accountId: string, page: Page): Promise<Rows<CredentialRow>>
  revokeCredential(accountId: string, id: string): Promise<boolean>
}

export interface Pools {
  createPool(pool: PoolRow): Promise<Written>
  /** By id or name, within an account. */
  pool(accountId: string, ref: string): Promise<KnownPool | null>
  pools(accountId: string, page: Page): Promise<Rows<KnownPool>>
  updatePool(pool: PoolRow): Promise<Written>
  deletePool(accountId: string, id: string): Promise<'done' | 'in_use' | 'not_found'>
  /** A sealed refresh token in place of the one that it was made from; false when no upstream has that any more. */
  rotateToken(was: string, is: string): Promise<boolean>
  /** Every pool of every account, for relay/. */
  allPools(): Promise<readonly KnownPool[]>
}

export interface Suppressions {
  addSuppression(row: SuppressionRow): Promise<SuppressionRow>
  /**
   * Rows of one list, all in one transaction. What is there may only become stronger (strongestOf in store/rules).
   * `added` of the addresses were not on it, `changed` are those and the ones that became stronger. It is no news:
   * no event tells of it. `sha256` is of the file that they stand in, for the audit.
   */
  importSuppressions(
    rows: readonly SuppressionRow[],
    sha256?: string,
  ): Promise<{ readonly changed: number; readonly added: number }>
  suppression(list: string, ref: string): Promise<SuppressionRow | null>
  suppressions(
    list: string,
    origin: SuppressionRow['origin'] | null,
    page: Page,
    /** Only those for the mail of this mailing list. */
    mailingList?: string | null,
  ): Promise<Rows<SuppressionRow>>
  removeSuppression(list: string, ref: string): Promise<SuppressionRow | null>
  /** Which of these entries (`email` of a row) are on a list now, or on the one of its whole account. */
  suppressed(list: string, emails: readonly string[], now: number): Promise<readonly string[]>
}

export interface Rates {
  /** Counts `n` sends into a fixed minute if they fit under `limit`: exact under concurrency and across a restart. n = 0 only looks. */
  consume(bucket: string, window: number, n: number, limit: number): WindowCount | Promise<WindowCount>
}

export interface Tenants extends Accounts, Workspaces, Keys, Credentials, Pools, Suppressions, Rates {}

export interface DkimKeyRow {
  readonly selector: string
  readonly algorithm: 'rsa' | 'ed25519'
  /** PKCS #8 in PEM, sealed. */
  readonly sealed: string
  /** The TXT record to publish. */
  readonly record: string
  /** `next` waits to be published, `active` signs, `retired` stays published while its mail is under way. */
  readonly state: 'next' | 'active' | 'retired'
  readonly createdAt: number
  readonly retiredAt: number | null
}

export const DOMAIN_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  /** null: any workspace of the account. */
  workspaceId: plain<string | null>(),
  /** Lower case, in A-labels. */
  name: plain<string>(),
  keys: json<readonly DkimKeyRow[]>(),
  /** When DNS last showed every active key; null: never, or no longer. */
  verifiedAt: plain<number | null>(),
  checkedAt: plain<number | null>(),
  createdAt: plain<number>(),
  updatedAt: plain<number>(),
}
export interface DomainRow extends RowOf<typeof DOMAIN_ROW> {}

export interface Domains {
  createDomain(row: DomainRow): Promise<Written>
  /**
   * Only over the row that was `updatedAt` then, with the event that tells what changed: false when it was
   * changed or removed since.
   */
  updateDomain(row: DomainRow, updatedAt: number, notice: EventNotice | null): Promise<boolean>
  removeDomain(accountId: string, id: string): Promise<boolean>
  /** By id or name, within an account. */
  domain(accountId: string, ref: string): Promise<DomainRow | null>
  /** Of one workspace alone, when that is named. */
  domains(accountId: string, page: Page, workspaceId?: string | null): Promise<Rows<DomainRow>>
  /** Every domain of every account, for relay/. */
  allDomains(): Promise<readonly DomainRow[]>
}

// What receivers reported of a domain: DMARC and TLS. A row is one report about one domain, with what it says of each
// source. It goes with its domain, and by age.

/**
 * Whose mail a source sent, as far as the report tells: `ours` had our return path and passed SPF with it,
 * `signed` had a signature of one of the domain's keys that passed (a forwarder, or an upstream with a return path of its
 * own), `unknown` neither.
 */
export const SOURCE_ORIGINS = ['ours', 'signed', 'unknown'] as const
export type SourceOrigin = (typeof SOURCE_ORIGINS)[number]

export interface ReportedSource extends DmarcCounts {
  /** null: all that are not listed. */
  readonly address: string | null
  readonly origin: SourceOrigin
}

export const DOMAIN_REPORT_ROW = {
  /** `rpt_...` */
  id: plain<string>(),
  accountId: plain<string>(),
  domainId: plain<string>(),
  kind: plain<DomainReportKind>(),
  /** Of who reports what about which span, and what he calls it: it is kept once. */
  digest: plain<string>(),
  reporter: plain<string>(),
  contact: plain<string | null>(),
  reportId: plain<string>(),
  begins: plain<number>(),
  ends: plain<number>(),
  receivedAt: plain<number>(),
  /** Mails, or sessions. */
  total: plain<number>(),
  failed: plain<number>(),
  /** As it was published. */
  policy: plain<string>(),
  /** Of DMARC. */
  sources: json<readonly ReportedSource[]>(),
  /** Of TLS. */
  failures: json<readonly TlsFailure[]>(),
}
export interface DomainReportRow extends RowOf<typeof DOMAIN_REPORT_ROW> {}

/** By when what is reported began. */
export interface ReportFilter {
  readonly kind: DomainReportKind | null
  readonly from: number | null
  readonly to: number | null
}

export interface DomainReports {
  /**
   * `known`: it is there already. `full`: of the domain `most` came within a day before this one. `no_domain`: it is
   * gone.
   */
  addDomainReport(row: DomainReportRow, most: number): Promise<'added' | 'known' | 'full' | 'no_domain'>
  domainReports(domainId: string, filter: ReportFilter, page: Page): Promise<Rows<DomainReportRow>>
}

// What an applied setup made, and whose turn it is to apply it. A setup is a set of files that describes things of an
// installation (setup/). Of each thing that it made or took over there is a row: under which name the files know it,
// which object it is, and what was applied. The row stays when a person removes the object: it is the mark that says
// so. A setup is applied under a lock with an end: who was killed holds it no longer than that, and who finds another
// owner in it stops.

const MANAGED_KINDS = [
  ...(['pool', 'workspace', 'domain', 'key', 'credential', 'webhook', 'suppressions', 'person'] as const),
] as const
export type ManagedKind = (typeof MANAGED_KINDS)[number]

/** By which the files know a thing. */
export interface ManagedKey {
  readonly kind: ManagedKind
  /** The slug that stands before the name; empty where there is none. */
  readonly workspace: string
  readonly name: string
}

export interface ManagedRow extends ManagedKey {
  readonly setup: string
  /** null: it was about to be made. */
  readonly objectId: string | null
  /** The fields as they were when they were applied, secrets as a keyed hash. */
  readonly applied: Readonly<Record<string, unknown>>
  readonly at: number
}

/** Whose an object is, and by which name the files know it. */
export type ManagedName = Pick<ManagedRow, 'setup' | 'kind' | 'workspace' | 'name'> & {
  readonly objectId: string
}

export interface SetupLock {
  readonly accountId: string
  readonly setup: string
  readonly owner: string
  /** It ends by itself then. */
  readonly until: number
}

export interface Setups {
  /** Of all setups of the account, in the order of setup, kind, workspace and name. */
  managed(accountId: string): Promise<readonly ManagedRow[]>
  /** Of these objects, those that setups made. */
  managedNames(accountId: string, objectIds: readonly string[]): Promise<readonly ManagedName[]>
  /** `taken`: another owner has it until later than `now`. */
  beginSetup(lock: SetupLock, now: number): Promise<'done' | 'taken'>
  /**
   * Writes rows and removes others while the lock is this owner's, and lets it last until then; false when it is not.
   * `begins`: from here on the setup is applied, which the audit says.
   */
  noteManaged(
    lock: SetupLock,
    kept: readonly Omit<ManagedRow, 'setup'>[],
    gone: readonly ManagedKey[],
    begins?: boolean,
  ): Promise<boolean>
  /** Gives the lock back, where it is this owner's. */
  endSetup(lock: SetupLock): Promise<void>
}
