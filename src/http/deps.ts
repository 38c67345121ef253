/**
 * NAME      deps - what the endpoints need, and rows that many of them share
 */

import type Joi from 'joi'
import type { Clock } from '../base/clock.js'
import type { Dialler } from '../base/dial.js'
import type { FaultCode } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import type { MarkCodec } from '../record/event.js'
import { removed } from '../record/tenants.js'
import type { Relay } from '../relay/relay.js'
import type { Cluster } from '../store/port/cluster.js'
import type { Audit, Identity } from '../store/port/identity.js'
import type { EventLog } from '../store/port/log.js'
import type { EmailScope, EmailSearch, Jobs, Ledger, Queue, Schedule } from '../store/port/mail.js'
import type { Operations } from '../store/port/operations.js'
import type { Statistics } from '../store/port/statistics.js'
import type { Acted } from '../store/port/store.js'
import type { Domains, Tenants } from '../store/port/tenants.js'
import type { Lifecycle, Upkeep } from '../store/port/upkeep.js'
import type { Incidents, Reading, Watch } from '../store/port/watch.js'
import type { Submission } from '../submission/submission.js'
import type { TxtLookup } from '../tenant/domain/check.js'
import { seesSubjects, visibleMode } from '../tenant/principal.js'
import { type QueueStates, queueStates, type StateOwner } from '../tenant/queue-state.js'
import type { Tenancy } from '../tenant/tenants.js'
import type { HookDeps } from '../webhook/endpoints.js'
import { type Answer, type Call, type Endpoint, endpoint } from './endpoint.js'
import type { Feed, Slots } from './feed.js'
import {
  type CursorCodec,
  type Envelope,
  type Filters,
  type ListRequest,
  listPage,
  type PageQuery,
} from './list.js'
import { listOf, pageOnly, removedOf, type Shape } from './shapes/common.js'
import type { BodyReader } from './thread/reader.js'
import {
  type Columns,
  type FormatQuery,
  fileAnswer,
  formatOf,
  recordPages,
  rowsWanted,
} from './wire/export.js'

const KEPT_MS = 1_000
/** Workspaces that are looked at within a second. */
const MOST_KEPT = 200

/**
 * What stands beside every page, asked once a second and not once a page: the state of the queue costs more than the rest
 * of a page, and is the same for all who look. It is forgotten when somebody orders something here, so that the answer to
 * an order shows what it did. What is being made when it is forgotten goes to those who asked before, and to nobody after.
 */
export class Kept<Value> {
  readonly #clock: Pick<Clock, 'tick'>
  readonly #found = new Map<string, { readonly value: Promise<Value>; readonly at: number }>()

  constructor(clock: Pick<Clock, 'tick'>) {
    this.#clock = clock
  }

  /** What `make` made within the last second, or makes now. */
  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const found = this.#found.get(key)
    return found !== undefined && this.#clock.tick() - found.at < KEPT_MS
      ? found.value
      : this.fresh(key, make)
  }

  /** Makes it now, and keeps it. */
  fresh(key: string, make: () => Promise<Value>): Promise<Value> {
    if (this.#found.size >= MOST_KEPT) this.forget()
    const one = { value: make(), at: this.#clock.tick() }
    this.#found.set(key, one)
    one.value.catch(() => {
      if (this.#found.get(key) === one) this.#found.delete(key)
    })
    return one.value
  }

  forget(): void {
    this.#found.clear()
  }
}

type HttpStore = Acted<
  Ledger &
    Schedule &
    Tenants &
    Incidents &
    Identity &
    Audit &
    EventLog &
    Pick<Queue, 'accept' | 'body'> &
    Pick<Upkeep, 'depth'> &
    Operations &
    Domains &
    Pick<Reading, 'readPlaces' | 'readLog'> &
    Statistics &
    EmailSearch &
    Jobs &
    HookDeps['store'] &
    Cluster &
    Pick<Watch, 'outages'> &
    Pick<Lifecycle, 'system'>
>

export interface Deps {
  readonly store: HttpStore
  readonly tenants: Tenancy
  readonly submission: Submission
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly cursors: CursorCodec
  /** Calls endpoints of webhooks, for a test, and knows which it must not call. */
  readonly dialler: Dialler
  /** Calls token endpoints of upstreams. */
  readonly tokenDialler: Dialler
  readonly marks: MarkCodec
  /** Serves the event streams, of which `slots` bounds the number. */
  readonly feed: Feed
  readonly slots: Slots
  /** Reads what would keep this thread busy for too long. */
  readonly reader: BodyReader
  /** The state of the queue of an account or a workspace, by whose it is. */
  readonly states: Kept<QueueStates>
  /** When it runs in this process: what it last saw of the upstreams, and a nudge when pools change or are to be tried again. */
  readonly relay?: Pick<Relay, 'upstreams' | 'reload' | 'view' | 'wake'> | undefined
  /** Where the SMTP door really listens, in the order of the configuration; by default as that says. */
  readonly door?: { readonly addresses: readonly { readonly port: number }[] } | undefined
  /** What failed of the setup that this daemon was to apply at its start, a line for each mistake. */
  readonly setupFailed?: (() => readonly string[] | null) | undefined
  /** Who is asked about DNS; by default the name servers of this host. */
  readonly lookup?: TxtLookup | undefined
}

/** A page of a list, or all of it as a file, as the caller wants it. */
export const listAnswer = async <Row>(
  deps: Deps,
  endpoint: string,
  call: Call<FormatQuery>,
  columns: Columns,
  list: Omit<ListRequest<Row>, 'bound' | 'query'> & {
    readonly query: FormatQuery & ListRequest<Row>['query']
  },
): Promise<Answer> => {
  const format = formatOf(call)
  if (format === null) return { status: 200, body: await pageFor(deps, endpoint, call, list) }
  const pages = recordPages(list.fetch, list.render, rowsWanted(list.query))
  return fileAnswer(format, { name: endpoint, columns, pages })
}

/** A page of an endpoint, for this caller: its cursors fit no other endpoint, account, workspace or mode. */
const pageFor = <Row>(
  deps: Deps,
  endpoint: string,
  call: Call,
  list: Omit<ListRequest<Row>, 'bound'>,
): Promise<Envelope> => {
  const { accountId, workspaceId, via, mode } = call.principal
  const bound = [endpoint, accountId, workspaceId ?? '', via === 'session' ? '' : mode]
  return listPage(deps.cursors, { ...list, bound })
}

const CURSORS = ['validation.cursor_invalid', 'validation.cursor_filters_mismatch'] as const

type Row<Query> = Omit<Endpoint<Query>, 'method' | 'answers' | 'faults' | 'handle' | 'query'>

interface Listing<Query, Found> extends Row<Query> {
  /** What its rows are, as the contract has them. */
  readonly of: Shape
  readonly query?: Shape<Joi.ObjectSchema<Query>>
  readonly faults?: Endpoint['faults']
  rows(call: Call<Query>): Listed<Found> | Promise<Listed<Found>>
}

interface Listed<Found> extends Pick<ListRequest<Found>, 'fetch' | 'render'> {
  /** Which list a cursor is of; by default its path says. */
  readonly name?: string
  readonly filters?: Filters
}

/** GET of a list, page by page. */
export const listing = <Found, Query extends PageQuery = PageQuery>(
  deps: Deps,
  { of, rows, faults = [], ...row }: Listing<Query, Found>,
): Endpoint =>
  endpoint<Query, unknown>({
    query: pageOnly as Shape<Joi.ObjectSchema>,
    ...row,
    method: 'GET',
    answers: { 200: listOf(of) },
    faults: [...faults, ...CURSORS],
    async handle(call) {
      const { name = row.path.slice('/v1/'.length), filters = {}, ...list } = await rows(call)
      const body = await pageFor(deps, name, call, { query: call.query, filters, ...list })
      return { status: 200, body }
    },
  })

type Removable = FaultCode extends infer C ? (C extends `${infer O}.not_found` ? O : never) : never

interface Removing<Query> extends Row<Query> {
  readonly of: Shape<Joi.ObjectSchema>
  readonly object: Removable
  readonly query?: Shape<Joi.ObjectSchema<Query>>
  readonly faults?: Endpoint['faults']
  /** Answers what is gone, where the path may name it by something else than its id. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most that take an id answer nothing
  remove(call: Call<Query>, ref: string): Promise<{ readonly id: string } | void>
}

/** DELETE of one record, which the end of the path names. */
export const removing = <Query>({ of, object, faults = [], remove, ...row }: Removing<Query>): Endpoint =>
  endpoint<Query, unknown>({
    ...row,
    method: 'DELETE',
    answers: { 200: removedOf(of) },
    faults: [...faults, `${object}.not_found`],
    async handle(call) {
      const [ref = ''] = Object.values(call.params)
      const gone = await remove(call, ref)
      return { status: 200, body: removed(object, gone ? gone.id : ref) }
    },
  })

/** The state of the queue, at most a second old; `isFresh`: as it is now. */
export const statesOf = (deps: Deps, of: StateOwner, isFresh = false): Promise<QueueStates> => {
  const { store, clock, relay, states } = deps
  const key = `${of.accountId} ${of.workspaceId} ${of.isOperator}`
  const view = relay?.view() ?? null
  const make = () => queueStates({ store, clock, view, hasRelay: relay !== undefined }, of)
  return isFresh ? states.fresh(key, make) : states.get(key, make)
}

/** What this caller may see. */
export const scopeOf = (call: Pick<Call, 'principal' | 'workspace'>): EmailScope => ({
  accountId: call.principal.accountId,
  workspaceId: call.workspace?.id ?? null,
  mode: visibleMode(call.principal),
})

/** A record as this caller may see it: without its subject, where viewers see nothing of what is written. */
export const asSeenBy =
  ({ config }: Deps, { principal }: Pick<Call, 'principal'>) =>
  <T extends object>(record: T): T => {
    if (seesSubjects(principal, config.identity.viewers_see)) return record
    return 'subject' in record ? { ...record, subject: null } : record
  }

/** Of a body that says why. */
const reasonIn = (body: unknown): { readonly reason?: string } => {
  const { reason } = (body ?? {}) as { readonly reason?: unknown }
  return typeof reason === 'string' ? { reason } : {}
}

/** The deps of one call: what is changed from it is written down as the caller's, with the reason in its body. */
const depsOf = (deps: Deps, { principal, address, body }: Call): Deps => {
  const actor = { ...principal.actor, address, ...reasonIn(body) }
  return { ...deps, store: deps.store.by(actor), tenants: deps.tenants.by(actor) }
}

/** Rows of endpoints whose changes are the caller's. A send writes its own record, and goes without. */
export const acted = (make: (deps: Deps) => readonly Endpoint[], deps: Deps): readonly Endpoint[] =>
  make(deps).map((row, i) =>
    row.method === 'GET' || row.sends === true || row.access === 'public'
      ? row
      : {
          ...row,
          async handle(call) {
            try {
              return await (make(depsOf(deps, call))[i] as Endpoint).handle(call)
            } finally {
              deps.states.forget()
            }
          },
        },
  )
