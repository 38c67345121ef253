/**
 * NAME      port/store - what every store can do, in whole verbs
 *   The one contract between the stages and a database. Each verb is complete and durable by itself: when its
 *   promise resolves, its effect is on disk, and when it rejects, nothing happened. There is no begin and no
 *   commit, because a verb can cross a thread and share an fsync. Its law is test/store/contract.ts.
 *   Text that is stored is well-formed Unicode without U+0000, and what is looked up by it has at most 254
 *   octets or so (a Message-ID 600 characters, or it is not found by): some databases keep no other. Whoever
 *   takes text from outside refuses the rest, or mends it (mail/encoding.ts, wellFormed). What a read looks for
 *   may be any text. Times are epoch milliseconds. Row types are plain data (structured clone). A rejection that
 *   is no Fault (comments name those) is a broken store; the daemon stops acknowledging.
 *   An engine makes its forwarders and what crosses its threads from this table; a test
 *   holds the contract suite against it. A verb that is not here does not compile.
 *     read   looks at rows and changes none
 *     write  one commit
 *     steps  put together from commits, each whole
 *     here   settled where it is called: signals, counts in memory, the file itself
 */

import type { Cluster, ReturnPathRing } from './cluster.js'
import type { Hooks } from './hooks.js'
import type { Actor, Audit, Identity } from './identity.js'
import type { EventLog } from './log.js'
import type { EmailSearch, Jobs, Ledger, Queue, Schedule, SenderDsns } from './mail.js'
import type { Carry, Operations } from './operations.js'
import type { DomainReports, Domains, Setups, Tenants } from './tenants.js'
import type { Lifecycle, Upkeep } from './upkeep.js'
import type { Incidents, Reading, Statistics, Warmups, Watch } from './watch.js'

/** A part of the store, and the same part as somebody. */
export type Acted<Part> = Part & {
  /** What it changes is written down as this one's, in the same commit; with an `entry` (an `aud_` id), all of it as one order. */
  by(actor: Actor, entry?: string | null): Acted<Part>
}

type Verbs = Queue &
  Ledger &
  EventLog &
  Schedule &
  Tenants &
  Incidents &
  Identity &
  Audit &
  Domains &
  DomainReports &
  Setups &
  Operations &
  Carry &
  SenderDsns &
  Reading &
  Statistics &
  EmailSearch &
  Jobs &
  Hooks &
  Watch &
  Warmups &
  Cluster &
  ReturnPathRing &
  Upkeep &
  Lifecycle

export type Store = Acted<Verbs>

export const VERBS = {
  // Queue
  accept: 'write',
  claimKey: 'write',
  releaseKey: 'write',
  claim: 'write',
  attempting: 'write',
  settle: 'write',
  release: 'write',
  body: 'read',
  onDue: 'here',
  onChanged: 'here',
  onLeased: 'here',
  ready: 'here',
  nextDue: 'read',
  duePools: 'read',
  adjustTimes: 'write',

  // Ledger
  email: 'read',
  content: 'read',
  emails: 'read',
  lastWords: 'read',
  events: 'read',
  report: 'read',
  trace: 'read',
  recipient: 'read',
  findEmails: 'read',
  onSettled: 'here',

  // EventLog
  log: 'read',
  follow: 'read',
  logEnds: 'read',
  isMark: 'here',
  loggedEvent: 'read',
  addNotice: 'write',

  // Schedule
  reschedule: 'write',
  cancel: 'write',

  // Tenants
  account: 'read',
  createAccount: 'write',
  accounts: 'read',
  pepperMark: 'read',
  setPepperMark: 'write',
  createWorkspace: 'write',
  ownPool: 'write',
  updateWorkspace: 'steps',
  suspendWorkspace: 'steps',
  resumeWorkspace: 'steps',
  deleteWorkspace: 'steps',
  workspace: 'read',
  workspaces: 'read',
  createKey: 'write',
  keyByLookup: 'read',
  key: 'read',
  keys: 'read',
  rotateKey: 'write',
  revokeKey: 'write',
  touch: 'here',
  createCredential: 'write',
  importCredentials: 'write',
  credential: 'read',
  credentialsByUsername: 'read',
  credentialsByRange: 'read',
  credentialByCertificate: 'read',
  credentials: 'read',
  revokeCredential: 'write',
  createPool: 'write',
  pool: 'read',
  pools: 'read',
  updatePool: 'write',
  deletePool: 'write',
  rotateToken: 'write',
  allPools: 'read',
  addSuppression: 'write',
  importSuppressions: 'write',
  suppression: 'read',
  suppressions: 'read',
  removeSuppression: 'write',
  suppressed: 'read',
  consume: 'write',

  // Incidents
  addHardBounce: 'write',
  incident: 'read',
  incidents: 'read',
  pendingSuppressions: 'read',
  pendingSuppression: 'read',
  decideIncident: 'steps',
  openIncidents: 'read',

  // Identity
  createUser: 'write',
  user: 'read',
  users: 'read',
  updateUser: 'write',
  userByIdentity: 'read',
  identities: 'read',
  factors: 'read',
  addFactor: 'write',
  removeFactor: 'write',
  resetFactors: 'write',
  replaceRecoveryCodes: 'write',
  takeFactor: 'write',
  createLink: 'write',
  linkByLookup: 'read',
  links: 'read',
  revokeLink: 'write',
  signIn: 'write',
  createSession: 'write',
  sessionByLookup: 'read',
  session: 'read',
  sessions: 'read',
  updateSession: 'write',
  revokeSession: 'write',
  revokeSessions: 'write',
  rememberOnce: 'write',

  // Audit
  audit: 'read',

  // Domains
  createDomain: 'write',
  updateDomain: 'write',
  removeDomain: 'write',
  domain: 'read',
  domains: 'read',
  allDomains: 'read',

  // DomainReports
  addDomainReport: 'write',
  domainReports: 'read',

  // Setups
  managed: 'read',
  managedNames: 'read',
  beginSetup: 'write',
  noteManaged: 'write',
  endSetup: 'write',

  // Operations
  hold: 'steps',
  holds: 'read',
  listHolds: 'read',
  operate: 'steps',
  queueCount: 'read',
  queueEntries: 'read',
  queueAges: 'read',
  entriesOf: 'read',
  heldDepth: 'read',

  // Carry
  addLot: 'write',
  lots: 'read',
  lot: 'read',
  markLot: 'steps',
  closeLot: 'steps',
  endLot: 'steps',
  exported: 'read',
  carried: 'read',
  knownEmails: 'read',
  carryIn: 'write',

  // SenderDsns
  pendingDsns: 'read',

  // Reading
  readPlaces: 'read',
  readLog: 'read',
  keepRead: 'write',

  // Statistics
  statistics: 'read',

  // Search
  notIndexedSince: 'read',
  searchEmails: 'read',

  // Jobs
  addJob: 'write',
  job: 'read',
  jobs: 'read',
  runningJobs: 'read',
  advanceJob: 'write',
  cancelJob: 'write',

  // Hooks
  createEndpoint: 'write',
  endpoint: 'read',
  endpoints: 'read',
  updateEndpoint: 'write',
  rotateEndpoint: 'write',
  enableEndpoint: 'write',
  disableEndpoint: 'write',
  deleteEndpoint: 'write',
  posts: 'read',
  post: 'read',
  postsOfEvent: 'read',
  failedPosts: 'read',
  savePosts: 'write',
  addReplay: 'write',
  replays: 'read',
  advanceReplay: 'write',
  allEndpoints: 'read',
  keepPlaces: 'write',
  waitingPosts: 'read',
  adjustPosts: 'write',

  // Watch
  standingAlarms: 'read',
  outages: 'read',
  noteOutage: 'write',

  // Warmups
  warmupDays: 'read',
  takeWarmup: 'write',
  returnWarmup: 'write',

  // Cluster
  writers: 'read',
  serverState: 'read',
  cluster: 'here',
  holdsWork: 'here',
  relayMark: 'read',

  // ReturnPathRing
  returnPathRing: 'read',
  replaceReturnPathRing: 'write',

  // Upkeep
  migrate: 'here',
  check: 'here',
  recover: 'write',
  sweep: 'steps',
  backup: 'here',
  depth: 'read',
  load: 'here',
  clockLead: 'read',
  followClock: 'write',
} as const satisfies Record<keyof Omit<Store, keyof Lifecycle | 'by'>, 'read' | 'write' | 'steps' | 'here'>

type Name = keyof typeof VERBS
type Kind = (typeof VERBS)[Name]
export type NamesOf<K extends Kind> = { [N in Name]: (typeof VERBS)[N] extends K ? N : never }[Name]

export const verbsOf = <K extends Kind>(kind: K): readonly NamesOf<K>[] =>
  (Object.keys(VERBS) as Name[]).filter((name): name is NamesOf<K> => VERBS[name] === kind)

type Sync<Verb> = Verb extends (...args: infer Args) => infer Result
  ? (...args: Args) => Awaited<Result>
  : never
type Soon<Verb> = Verb extends (...args: infer Args) => Promise<infer Result>
  ? (...args: Args) => Result | Promise<Result>
  : never

/** The writes of a part of the port, as an engine does them inside a commit. */
export type Writes<Part> = { readonly [N in keyof Part & NamesOf<'write'>]: Sync<Part[N]> }

/** Its reads, as an engine does them on a connection. */
export type Reads<Part> = { readonly [N in keyof Part & NamesOf<'read'>]: Soon<Part[N]> }
