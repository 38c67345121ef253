/**
 * NAME      rights - what each role may do
 *   One table, from the operations of /v1 to the least role that may do them; those of a resource stand with its members.
 *   The HTTP gate, the forms of the dashboard and the OpenAPI document take their answer from it, before anybody looks at
 *   what was sent. Roles are of people and their sessions; a key has no role, it has its scope and its mode
 *   (http/gate.ts). Whoever owns the data folder may do all of it from the command line.
 * NOTES
 *   What belongs to another account, or to a workspace that is not the caller's, is absent for every role, so the table
 *   has no column for it. `others` is for what belongs to a person: the least role for that of somebody else.
 */
import { Fault } from '../base/fault.js'
import { ROLES, type Role } from '../config/identity.js'
import { DOMAIN_RIGHTS } from '../resource/domain.js'
import type { Least, OfPeople, Rights } from '../resource/member.js'
import { PEOPLE_RIGHTS } from '../resource/people.js'
import { KEY_RIGHTS, POOL_RIGHTS, SUPPRESSION_RIGHTS, WORKSPACE_RIGHTS } from '../resource/tenants.js'
import { WEBHOOK_RIGHTS } from '../resource/webhook.js'
import { type Principal, seesBodies, seesSubjects, type ViewersSee } from './principal.js'

const RIGHTS = {
  listErrors: 'viewer',
  getError: 'viewer',
  getOpenApi: 'viewer',
  getOpenDocument: 'viewer',
  getInstallation: 'viewer',
  getSummary: 'viewer',
  getStatistics: 'viewer',
  getCluster: 'viewer',

  sendEmail: 'member',
  sendBatch: 'member',
  listEmails: 'viewer',
  getEmail: 'viewer',
  listEmailEvents: 'viewer',
  getEventReport: 'bodies',
  getEmailSource: 'bodies',
  listEmailAttachments: 'bodies',
  resendEmail: 'member',
  rescheduleEmail: 'member',
  cancelEmail: 'member',
  bulkEmails: 'member',
  listJobs: 'viewer',
  getJob: 'viewer',
  cancelJob: 'member',
  listEvents: 'viewer',
  getEvent: 'viewer',
  streamEvents: 'subjects',

  ...SUPPRESSION_RIGHTS,
  listIncidents: 'viewer',
  getIncident: 'viewer',
  acceptIncident: 'member',
  dismissIncident: 'member',

  getQueue: 'viewer',
  listQueueEntries: 'viewer',
  getQueueAges: 'viewer',
  retryQueue: 'member',
  releaseQueue: 'member',
  rerouteQueue: 'member',
  purgeQueue: 'member',
  placeHold: 'member',
  listHolds: 'viewer',
  liftHold: 'member',

  ...WORKSPACE_RIGHTS,
  ...POOL_RIGHTS,
  ...DOMAIN_RIGHTS,
  ...KEY_RIGHTS,
  ...WEBHOOK_RIGHTS,
  ...PEOPLE_RIGHTS,
  planSetup: 'owner',
  applySetup: 'owner',
} as const satisfies Rights

export type Operation = keyof typeof RIGHTS

export const OPERATIONS = Object.keys(RIGHTS) as readonly Operation[]

/** The least that may do it; `isOwn` is false for what belongs to another person. */
export const leastFor = (operation: Operation, isOwn = true): Least => {
  const row: Least | OfPeople = RIGHTS[operation]
  return typeof row === 'string' ? row : row[isOwn ? 'own' : 'others']
}

/** A role may do all that those after it may. */
export const reaches = (role: Role, least: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(least)

interface Asked {
  /** False for what belongs to another person. */
  readonly isOwn?: boolean | undefined
  readonly viewersSee?: ViewersSee
}

/** Whether the caller's role lets it do that; keys have no role. */
export const mayDo = (
  principal: Principal,
  operation: Operation,
  { isOwn = true, viewersSee = 'nothing' }: Asked = {},
): boolean => {
  const least = leastFor(operation, isOwn)
  if (least === 'bodies') return seesBodies(principal, viewersSee)
  if (least === 'subjects') return seesSubjects(principal, viewersSee)
  return principal.role === null || reaches(principal.role, least)
}

/** All that a key may do whose permission is `sending_access`. */
const OF_SENDERS: readonly Operation[] = ['sendEmail', 'sendBatch']

/** What a key hears whose permission is `reading_access`, and that wants more. */
export const readingOnly = (): Fault =>
  new Fault('auth.scope_forbidden', {
    detail: 'this key has the permission reading_access: it reads, and sends and changes nothing',
  })

/** Throws auth.scope_forbidden where a key that only reads or only sends wants something else. */
export const requirePermitted = (
  { sendsOnly, readsOnly }: Principal,
  operation: Operation,
  isReading: boolean,
): void => {
  if (readsOnly === true && !isReading) throw readingOnly()
  if (sendsOnly !== true || OF_SENDERS.includes(operation)) return
  throw new Fault('auth.scope_forbidden', {
    detail: 'this key has the permission sending_access: it sends mail, and does nothing else',
  })
}

/** What a session may do before its person has the second factor that everybody must have. */
const WHILE_ENROLLING: ReadonlySet<Operation> = new Set<Operation>([
  ...(['getSession', 'updateSession', 'getUser', 'updateUser', 'beginFactor', 'addFactor'] as const),
])

/** Throws auth.second_factor_required where that stands in the way. */
const requireEnrolled = ({ mustEnrol }: Principal, operation: Operation, isOwn: boolean): void => {
  if (mustEnrol !== true || (isOwn && WHILE_ENROLLING.has(operation))) return
  throw new Fault('auth.second_factor_required')
}

/** Throws auth.role_forbidden unless it may. */
export const requireRight = (principal: Principal, operation: Operation, asked: Asked = {}): void => {
  requireEnrolled(principal, operation, asked.isOwn ?? true)
  if (mayDo(principal, operation, asked)) return
  const { isOwn = true } = asked
  const least = leastFor(operation, isOwn)
  if (least === 'bodies' || least === 'subjects')
    throw new Fault('auth.role_forbidden', { detail: 'viewers do not see what is written in mail' })
  const own = isOwn ? '' : ', but for what is yours'
  throw new Fault('auth.role_forbidden', {
    detail: `this needs the role ${least}${own}; yours is ${principal.role}`,
  })
}

export const isPerson = ({ person }: Principal, ref: string): boolean =>
  person !== null && (ref.toLowerCase() === person.id || ref.toLowerCase() === person.email)
