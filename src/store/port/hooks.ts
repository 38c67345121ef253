/**
 * NAME      port/hooks - the store's verbs about webhooks
 *   An endpoint that answers costs no row per event: it is a place in the log,
 *   kept once a second, and what succeeded is a compact list beside it. An event
 *   that was not taken becomes a post of its own, stored before the place passes
 *   it; so do replays and tests. Marks are those of the log (port/log.ts).
 * NOTES
 *   A place has a generation. Who enables or disables an endpoint raises it, and
 *   what the engine then still says of the older one changes nothing but how far it
 *   came: what was taken is not posted again by an order.
 */

import type { Mode, Page, Rows } from '../../lifecycle/page.js'
import type { EventType } from '../../mail/event-type.js'
import { bool, json, plain, type RowOf } from './row.js'

/** What an endpoint asks for: a type, a name that Resend has for one, or everything that is and will be. */
export type Subscription = EventType | 'email.delivery_delayed' | '*'

/** In whose words events are posted: ours, or those of a service whose receivers are there already. */
export const WEBHOOK_FORMATS = ['standard', 'sendgrid', 'postmark', 'mailgun', 'resend'] as const
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

/**
 * Why nothing is posted: somebody said so, the endpoint answered 410, or it took nothing for days.
 */
export type DisabledReason = 'requested' | 'gone' | 'failures'

export const ENDPOINT_ROW = {
  /** `wh_...` */
  id: plain<string>(),
  accountId: plain<string>(),
  /** null: the whole account. */
  workspaceId: plain<string | null>(),
  mode: plain<Mode>(),
  url: plain<string>(),
  /** It stays what it was when the endpoint was made. */
  format: plain<WebhookFormat>(),
  /** As they were asked for; never empty. `['*']`: all types, also those that come later. */
  events: json<readonly Subscription[]>(),
  status: plain<'enabled' | 'disabled'>(),
  /** null while it is enabled, as is the next. */
  disabledReason: plain<DisabledReason | null>(),
  disabledAt: plain<number | null>(),
  /** Sealed with the pepper: the text that begins with `whsec_`. */
  secret: plain<string>(),
  /** The one before, sealed; signs as well until `previousUntil`. */
  previousSecret: plain<string | null>(),
  previousUntil: plain<number | null>(),
  /** base64 of the DER of the key that verifies what `secret` signs, in a format that has one; else null. */
  publicKey: plain<string | null>(),
  /** `user:password` for the server that is posted to, sealed; null when there is none. */
  auth: plain<string | null>(),
  /** JSON [[name, value], ...] of the customer's own headers, sealed; null when there are none. */
  headers: plain<string | null>(),
  /** Their names, which may be shown. */
  headerNames: json<readonly string[]>(),
  /** Only mail from these domains (lower case, A-labels); empty: all. Events that have no mail pass. */
  domains: json<readonly string[]>(),
  /** Only mail with one of these tags; a null value means any. Empty: all. Events that have no mail pass. */
  tags: json<readonly { readonly name: string; readonly value: string | null }[]>(),
  fields: plain<'full' | 'thin'>(),
  maxInFlight: plain<number>(),
  /** Replays a second. */
  replayRate: plain<number>(),
  createdAt: plain<number>(),
  updatedAt: plain<number>(),
}
export interface EndpointRow extends RowOf<typeof ENDPOINT_ROW> {}

export type EndpointChange = Partial<
  Pick<
    EndpointRow,
    | 'url'
    | 'events'
    | 'auth'
    | 'headers'
    | 'headerNames'
    | 'domains'
    | 'tags'
    | 'fields'
    | 'maxInFlight'
    | 'replayRate'
  >
>

/** How an endpoint does, and how far it is. */
export const ENDPOINT_STATE_ROW = {
  generation: plain<number>(),
  /** All before it is answered, or stored as a post. null: the end of the log, when it is next looked at. */
  mark: plain<string | null>(),
  /** `failing`: the place stands, and one post at a time tries whether it is back. */
  health: plain<'healthy' | 'failing'>(),
  failingSince: plain<number | null>(),
  /** Failures since the last success. */
  failures: plain<number>(),
  firstFailedAt: plain<number | null>(),
  lastFailedAt: plain<number | null>(),
  lastSucceededAt: plain<number | null>(),
  /** Failed tries since it is failing, and when the next one is. */
  probes: plain<number>(),
  probeAt: plain<number | null>(),
  /** How much of this failing its owners were told: nothing, that it began, that half of the time is over. */
  told: plain<0 | 1 | 2>(),
  /** Given up and not told yet: how many events, and the mark to replay them from. */
  givenUp: plain<number>(),
  givenUpFrom: plain<string | null>(),
  /** When its owners were last told of such. */
  givenUpToldAt: plain<number | null>(),
}
export interface EndpointState extends RowOf<typeof ENDPOINT_STATE_ROW> {}

export interface KnownEndpoint extends EndpointRow {
  readonly state: EndpointState
  /** Posts that are stored to be tried, first or again. */
  readonly waiting: number
}

export type PostKind = 'event' | 'replay' | 'test'

/** `waiting` is tried at `dueAt`; `failed` is given up; `canceled` by the end of its endpoint's or store's past. */
type PostState = 'waiting' | 'succeeded' | 'failed' | 'canceled'

/** One try, in short. */
interface PostTry {
  readonly at: number
  /** null: no whole answer came. */
  readonly status: number | null
  readonly ms: number
  readonly cause: string | null
}

/** A failure, a replay or a test. What is said of the exchange is said of the last try. */
export const POST_ROW = {
  /** `post_...` */
  id: plain<string>(),
  endpointId: plain<string>(),
  /** The `webhook-id`; that of a test is no event of the log. */
  eventId: plain<string>(),
  /** The type as it was sent. */
  eventType: plain<string>(),
  /** When the event was stored. */
  eventAt: plain<number>(),
  kind: plain<PostKind>(),
  state: plain<PostState>(),
  /** Tries that have ended. */
  attempts: plain<number>(),
  /** Only while it is waiting. */
  dueAt: plain<number | null>(),
  /** The latest twelve, oldest first. */
  tries: json<readonly PostTry[]>(),
  /** As they were sent; the values of the customer's own headers are not kept. */
  url: plain<string | null>(),
  headers: json<Readonly<Record<string, string>> | null>(),
  status: plain<number | null>(),
  ms: plain<number | null>(),
  /** The first kilobyte of the answer. */
  answer: plain<string | null>(),
  /** What went wrong, in one sentence; null when nothing did. */
  cause: plain<string | null>(),
  createdAt: plain<number>(),
  updatedAt: plain<number>(),
}
export interface PostRow extends RowOf<typeof POST_ROW> {}

/** What is kept of an event that was taken at once, or that was given up unposted with many others. */
export type BriefPost = Pick<PostRow, 'eventId' | 'eventType' | 'eventAt' | 'status' | 'ms'> & {
  readonly state: 'succeeded' | 'failed'
  /** When it was answered. */
  readonly at: number
}

/** A post as a list has it: of a brief one there is no id, address, headers or answer. */
export type ListedPost = Omit<PostRow, 'id'> & { readonly id: string | null }

export interface KeptPlace {
  readonly endpointId: string
  readonly state: EndpointState
  /** The mark that was kept before this one; null: not known. */
  readonly was: string | null
  /** Since it was last kept. */
  readonly brief: readonly BriefPost[]
}

/** Many events again: those of the log that the endpoint asks for now, or those that failed. */
export const REPLAY_ROW = {
  /** `rep_...` */
  id: plain<string>(),
  endpointId: plain<string>(),
  failed: bool,
  /** A mark of the log; for `failed` a place in the list of posts, null for its beginning. */
  place: plain<string | null>(),
  /** Only events stored in this time. */
  since: plain<number | null>(),
  until: plain<number>(),
  /** Posts made of it so far. */
  made: plain<number>(),
  createdAt: plain<number>(),
}
export interface ReplayRow extends RowOf<typeof REPLAY_ROW> {}

interface EndpointFilter {
  readonly accountId: string
  /** null: all of the account, also those that belong to no workspace. */
  readonly workspaceId: string | null
  readonly mode: Mode | null
  /** Those alone that are switched on and fail. */
  readonly failing?: boolean
}

export interface FailedPosts {
  /** Oldest first. */
  readonly posts: readonly ListedPost[]
  /** Where to go on; null when nothing more is there. */
  readonly next: string | null
}

export interface Endpoints {
  /** Stores it, following the log from `mark`. */
  createEndpoint(row: EndpointRow, mark: string): Promise<void>
  /** By its id, whatever its workspace and mode. */
  endpoint(accountId: string, id: string): Promise<KnownEndpoint | null>
  endpoints(filter: EndpointFilter, page: Page): Promise<Rows<KnownEndpoint>>
  /** Leaves its place, its health and what waits as they are. False when there is none. */
  updateEndpoint(accountId: string, id: string, change: EndpointChange, now: number): Promise<boolean>
  /** The secret so far signs as well until `previousUntil`; null: no longer. */
  rotateEndpoint(
    accountId: string,
    id: string,
    secret: Pick<EndpointRow, 'secret' | 'publicKey'>,
    previousUntil: number | null,
    now: number,
  ): Promise<boolean>
  /**
   * Healthy again; goes on from this mark, or (null) from where it stood. With the event `webhook.enabled`;
   * one that is enabled stays as it is. False when there is none.
   */
  enableEndpoint(accountId: string, id: string, from: string | null, now: number): Promise<boolean>
  /** With the event `webhook.disabled`; one that is disabled keeps its reason. False when there is none. */
  disableEndpoint(accountId: string, id: string, reason: DisabledReason, now: number): Promise<boolean>
  /** It and all that was posted to it; rows go with the sweep. */
  deleteEndpoint(accountId: string, id: string, now: number): Promise<boolean>
  /** Every endpoint of every account, for webhook/. */
  allEndpoints(): Promise<readonly KnownEndpoint[]>
}

export interface Posts {
  /** Newest first; `failed`: only those whose last try failed. */
  posts(endpointId: string, failed: boolean, page: Page): Promise<Rows<ListedPost>>
  post(endpointId: string, id: string): Promise<PostRow | null>
  /** All that is kept of an event, oldest first; `eventAt` is when it was stored, without it brief posts are not looked for. */
  postsOfEvent(endpointId: string, eventId: string, eventAt: number | null): Promise<readonly ListedPost[]>
  /** Those whose events were stored in a time and that were given up, oldest first. */
  failedPosts(
    endpointId: string,
    since: number | null,
    until: number,
    after: string | null,
    limit: number,
  ): Promise<FailedPosts>
  /** Adds posts, or puts these in place of what was known of them. One event has one post of the kind `event`. */
  savePosts(posts: readonly PostRow[]): Promise<void>
  addReplay(row: ReplayRow): Promise<void>
  /** Those under way. */
  replays(): Promise<readonly ReplayRow[]>
  /** Adds posts and moves the replay to its next place, in one; null: it is done. */
  advanceReplay(id: string, place: string | null, posts: readonly PostRow[]): Promise<void>

  /**
   * Once a second. Of an older generation its brief posts are kept, and its mark, where the place still is what it `was`:
   * whoever enabled it from a later event has moved it.
   */
  keepPlaces(kept: readonly KeptPlace[]): Promise<void>
  /** Posts that wait, those due first; with `now` only those that are due. */
  waitingPosts(endpointId: string, now: number | null, limit: number): Promise<readonly PostRow[]>
  /** The wall clock was set by so much: what waits, waits as long as before, and no longer than `longest`. */
  adjustPosts(now: number, by: number, longest: number): Promise<void>
}

export interface Hooks extends Endpoints, Posts {}
