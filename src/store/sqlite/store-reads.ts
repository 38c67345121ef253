/**
 * NAME      store-reads - the reading verbs of the port
 * DESCRIPTION
 *   Each is one or a few seeks on this thread's read-only connection; what may
 *   take longer (depth, backup, integrity) is for operators and says so.
 */
import { systemClock } from '../../base/clock.js'
import type { Carry } from '../port/carry.js'
import type { Hooks } from '../port/hooks.js'
import type { Jobs } from '../port/jobs.js'
import type { EmailSearch, Ledger } from '../port/ledger.js'
import type { EventLog } from '../port/log.js'
import type { Operations } from '../port/operations.js'
import type { Queue } from '../port/queue.js'
import type { SenderDsns } from '../port/sender-dsns.js'
import type { Statistics } from '../port/statistics.js'
import type { Audit } from '../port/tenants/audit.js'
import type { Domains } from '../port/tenants/domains.js'
import type { Tenants } from '../port/tenants/tenants.js'
import type { Upkeep } from '../port/upkeep.js'
import type { Incidents } from '../port/watch/incident.js'
import type { Watch } from '../port/watch/watch.js'
import { backup, integrityFaults } from './backup.js'
import { readMark } from './log/places.js'
import type { Verbs } from './session.js'
import { readPulse } from './thread/load-counts.js'

/** A daemon checks these and no more: reading ten million mails would keep its doors shut for minutes. */
const SMALL_TABLES = ['accounts', 'workspaces', 'pools', 'keys', 'credentials', 'sessions', 'users']

type TenantReads = Pick<
  Tenants,
  | 'account'
  | 'accounts'
  | 'pepperMark'
  | 'workspace'
  | 'workspaces'
  | 'keyByLookup'
  | 'key'
  | 'keys'
  | 'credential'
  | 'credentialsByUsername'
  | 'credentialsByRange'
  | 'credentialByCertificate'
  | 'credentials'
  | 'pool'
  | 'pools'
  | 'allPools'
  | 'suppression'
  | 'suppressions'
  | 'suppressed'
>

type MailReads = Omit<Ledger, 'onSettled'> &
  Omit<EventLog, 'addNotice'> &
  Pick<Queue, 'body' | 'nextDue' | 'duePools'> &
  Pick<Upkeep, 'depth' | 'clockLead' | 'load' | 'check' | 'backup'>

const tenantReads = (current: () => Verbs): TenantReads & Audit => ({
  account: async (id) => current().reads.account(id),
  accounts: async () => current().reads.accounts(),
  pepperMark: async () => current().reads.pepperMark(),
  audit: async (accountId, filter, page) => current().reads.audit(accountId, filter, page),
  workspace: async (accountId, ref) => current().reads.workspace(accountId, ref),
  workspaces: async (accountId, page, only) => current().reads.workspaces(accountId, page, only),
  keyByLookup: async (lookup) => current().reads.keyByLookup(lookup),
  key: async (accountId, id) => current().reads.key(accountId, id),
  keys: async (accountId, page, lookup) => current().reads.keys(accountId, page, lookup),
  credential: async (id) => current().reads.credential(id),
  credentialsByUsername: async (username) => current().reads.credentialsByUsername(username),
  credentialsByRange: async () => current().reads.credentialsByRange(),
  credentialByCertificate: async (fingerprint) => current().reads.credentialByCertificate(fingerprint),
  credentials: async (accountId, page) => current().reads.credentials(accountId, page),
  pool: async (accountId, ref) => current().reads.pool(accountId, ref),
  pools: async (accountId, page) => current().reads.pools(accountId, page),
  allPools: async () => current().reads.allPools(),
  suppression: async (workspaceId, ref) => current().reads.suppression(workspaceId, ref),
  suppressions: async (workspaceId, origin, page) => current().reads.suppressions(workspaceId, origin, page),
  suppressed: async (workspaceId, emails, now) => current().reads.suppressed(workspaceId, emails, now),
})

const mailReads = (current: () => Verbs): MailReads => ({
  body: async (emailId) => current().bodyStore.body(emailId),
  nextDue: async (poolIds) => current().reads.nextDue(poolIds),
  duePools: async (now) => current().reads.duePools(now),
  email: async (scope, id) => current().reads.email(scope, id),
  lastWords: async (emailIds) => current().reads.lastWords(emailIds),
  content: async (emailId) => current().reads.content(emailId),
  report: async (emailId, name) => current().reads.report(emailId, name),
  trace: async (emailId) => current().reads.trace(emailId),
  emails: async (filter, page) => current().reads.emails(filter, page),
  events: async (emailId, page) => current().reads.events(emailId, page),
  log: async (filter, page) => current().reads.log(filter, page),
  follow: async (filter, after, limit) => current().reads.follow(filter, after, limit),
  logEnds: async () => current().reads.logEnds(),
  isMark: (text) => readMark(text) !== null,
  loggedEvent: async (accountId, id) => current().reads.loggedEvent(accountId, id),
  recipient: async (recipientId) => current().reads.recipient(recipientId),
  findEmails: async (text, limit) => current().reads.findEmails(text, limit),
  depth: async (of) => current().reads.depth(systemClock.now(), of),
  clockLead: async (now) => current().reads.clockLead(now),
  load: () => readPulse(current().loadCounts),
  async check() {
    const { client, db, daemon, bodyStore } = current()
    const faults = [...(await client.call('durability')), ...integrityFaults(db, daemon ? SMALL_TABLES : [])]
    return daemon ? faults : [...faults, ...(await bodyStore.missing())]
  },
  backup: (path) => backup(current().file, path),
})

type OperationReads = Omit<Operations, 'hold' | 'operate'> &
  Pick<Carry, 'lot' | 'lots' | 'exported' | 'carried' | 'knownEmails'> &
  Pick<Domains, 'domain' | 'domains' | 'allDomains'> &
  Omit<Statistics, 'addStatistics'> &
  Omit<EmailSearch, 'indexMails'> &
  Pick<Jobs, 'job' | 'jobs' | 'runningJobs'> &
  Omit<Watch, 'foldAlarms' | 'noteOutage'> &
  Omit<Incidents, 'addHardBounce' | 'decideIncident'> &
  SenderDsns

const operationReads = (current: () => Verbs): OperationReads => ({
  domain: async (accountId, ref) => current().reads.domain(accountId, ref),
  domains: async (accountId, page, workspaceId) => current().reads.domains(accountId, page, workspaceId),
  allDomains: async () => current().reads.allDomains(),
  standingAlarms: async () => current().reads.standingAlarms(),
  alarmMark: async () => current().reads.alarmMark(),
  outages: async () => current().reads.outages(),
  incident: async (accountId, id) => current().reads.incident(accountId, id),
  incidents: async (...args) => current().reads.incidents(...args),
  pendingSuppressions: async (...args) => current().reads.pendingSuppressions(...args),
  pendingSuppression: async (...args) => current().reads.pendingSuppression(...args),
  openIncidents: async () => current().reads.openIncidents(),
  holds: async (accountId) => current().reads.holds(accountId),
  queueCount: async (scope) => current().reads.queueCount(scope),
  listHolds: async (...args) => current().reads.listHolds(...args),
  queueEntries: async (filter, page) => current().reads.queueEntries(filter, page),
  queueAges: async (...args) => current().reads.queueAges(...args),
  entriesOf: async (emailIds) => current().reads.entriesOf(emailIds),
  heldDepth: async (of) => current().reads.heldDepth(of),
  lots: async (accountId) => current().reads.lots(accountId),
  lot: async (accountId, id) => current().reads.lot(accountId, id),
  exported: async (lot, after) => current().reads.exported(lot, after),
  knownEmails: async (ids) => current().reads.knownEmails(ids),
  async carried(emailId) {
    const mail = current().reads.carried(emailId)
    return mail === null ? null : { ...mail, raw: await current().bodyStore.body(emailId) }
  },
  statistics: async (query, after) => current().reads.statistics(query, after),
  statisticsPlace: async () => current().reads.statisticsPlace(),
  job: async (accountId, id) => current().reads.job(accountId, id),
  jobs: async (accountId, page, workspaceId) => current().reads.jobs(accountId, page, workspaceId),
  runningJobs: async () => current().reads.runningJobs(),
  searchEmails: async (filter, page) => current().reads.searchEmails(filter, page),
  notIndexedSince: async () => current().reads.notIndexedSince(),
  owedDsns: async (before, limit) => current().reads.owedDsns(before, limit),
})

type HookReads = Pick<
  Hooks,
  | 'endpoint'
  | 'endpoints'
  | 'posts'
  | 'post'
  | 'postsOfEvent'
  | 'failedPosts'
  | 'replays'
  | 'allEndpoints'
  | 'waitingPosts'
>

const hookReads = (current: () => Verbs): HookReads => ({
  endpoint: async (accountId, id) => current().reads.endpoint(accountId, id),
  endpoints: async (filter, page) => current().reads.endpoints(filter, page),
  posts: async (endpointId, failed, page) => current().reads.posts(endpointId, failed, page),
  post: async (endpointId, id) => current().reads.post(endpointId, id),
  postsOfEvent: async (...args) => current().reads.postsOfEvent(...args),
  failedPosts: async (...args) => current().reads.failedPosts(...args),
  replays: async () => current().reads.replays(),
  allEndpoints: async () => current().reads.allEndpoints(),
  waitingPosts: async (...args) => current().reads.waitingPosts(...args),
})

export const readsOf = (
  current: () => Verbs,
): TenantReads & Audit & MailReads & OperationReads & HookReads => ({
  ...tenantReads(current),
  ...mailReads(current),
  ...operationReads(current),
  ...hookReads(current),
})
