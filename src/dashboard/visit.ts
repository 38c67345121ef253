/**
 * NAME      visit - what a page of the dashboard is, and one look at it
 *   A page is its path, what it asks of /v1, its view, and the actions that its forms may post to that same path. An
 *   action ends with a redirect to what it made, or with a view that can be shown only once (a secret). When /v1
 *   refuses it, the page is shown again with the mistakes beside the fields and all that was typed.
 *   A visit is who looks, at what, with which workspace and mode in the URL, and the way to /v1 in his or her name.
 *   Links made here keep workspace and mode, so that every view can be sent to somebody else as a link.
 */
import type { Readable } from 'node:stream'
import type { ComponentChildren } from 'preact'
import type { Kept } from '../base/kept.js'
import type { Role } from '../config/identity.js'
import type { QueueStateRecord } from '../record/queue.js'
import { leastFor, type Operation, reaches } from '../tenant/rights.js'
import {
  type AskAnswer,
  type AskApi,
  AskError,
  type AskMethod,
  type AskQuery,
  jsonOf,
  type Problem,
  queryText,
} from './ask.js'
import type { Form } from './form.js'

export interface View {
  /** Of the window; the heading is the page's own. */
  readonly title: string
  readonly body: ComponentChildren
  /** 200 where it is not said. */
  readonly status?: number
}

export const titled = (title: string, body: ComponentChildren): View => ({ title, body })

export interface RefusedForm {
  readonly action: string
  readonly form: Form
  readonly problem: Problem
}

export type FormDone =
  /** Seen after a redirect; `notice` is one sentence on top of it. */
  { readonly to: string; readonly notice?: string; readonly theme?: Theme } | { readonly view: View }

type Run = (visit: Visit, form: Form) => Promise<FormDone>

/** What a form does of /v1, and how: who may not do that is told so before the form is looked at. */
interface Action {
  readonly does: Operation
  readonly run: Run
}

export const does = (operation: Operation, run: Run): Action => ({ does: operation, run })

export interface SitePage {
  /** With `{name}` for parameters, as hapi has it. */
  readonly path: string
  /** What nobody may do for whom this page is of no use; unsaid, anybody sees it. */
  readonly opens?: Operation
  view(visit: Visit, refused: RefusedForm | null): Promise<View>
  readonly actions?: Readonly<Record<string, Action>>
}

/** Who looks at what needs no session. */
export interface SiteReader {
  readonly visit: Visit | null
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** As a session links it; outside of one, as it stands. */
  link(path: string): string
  readonly baseUrl: string
  /** The document of the API; null where this reader may not see it. */
  readonly document: (() => Promise<AskAnswer>) | null
  /** The JSON of a GET of what is public; throws AskError. */
  ask<T>(path: string): Promise<T>
}

/** A page for everybody, at an address where programs get JSON. */
export interface OpenPage {
  readonly path: string
  view(reader: SiteReader): Promise<View>
}

export interface Raw {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | Readable
}

/** What is no page: octets of a mail, an export, a stream. Only GET. */
export interface RawRoute {
  readonly path: string
  answer(visit: Visit): Promise<Raw>
}

/** The same for everybody who may read the documentation. */
export interface OpenRaw {
  readonly path: string
  answer(reader: SiteReader): Promise<Raw>
}

/** `system` is what the browser says. */
export type Theme = 'light' | 'dark' | 'system'

export const THEMES: readonly Theme[] = ['light', 'dark', 'system']

/** The answer of GET /v1/session. */
export interface Who {
  readonly id: string
  readonly person: {
    readonly id: string
    readonly email: string
    readonly name?: string | null
    readonly time_zone?: string | null
    readonly views?: readonly { readonly title: string; readonly path: string }[]
  } | null
  readonly role: Role | null
  readonly permissions?: readonly string[]
  readonly expires_at?: string | null
}

/** One of GET /v1/workspaces; pages that need more of it say so. */
export interface WorkspaceName {
  readonly id: string
  readonly slug: string
}

/** The answer of GET /v1/summary. */
export interface Summary {
  readonly webhooks_failing: number
  readonly live: QueueStateRecord
  readonly test: QueueStateRecord
  readonly setup_failed: readonly string[] | null
}

export interface PageOfWorkspaces {
  readonly data: readonly WorkspaceName[]
  readonly pagination: { readonly next_cursor: string | null }
}

export interface VisitScope {
  /** Id or slug; null is all of them. */
  readonly workspace: string | null
  readonly mode: 'live' | 'test'
}

/** Where pages of one thing stand below the list of a workspace. */
const OF_A_WORKSPACE: ReadonlySet<string> = new Set(['emails', 'webhooks', 'jobs', 'domains'])
/** Parameters that name one thing. */
const ONE_THING = ['hold', 'email_id', 'mail', 'event']

interface VisitParts {
  readonly ask: AskApi
  readonly session: string
  readonly address: string
  readonly look: object
  readonly kept: Kept
  readonly who: Who
  readonly url: URL
  readonly params: Readonly<Record<string, string>>
  readonly scope: VisitScope
  /** What each form carries; it belongs to the session. */
  readonly formToken: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** True in `postern dev`. */
  readonly isDev: boolean
  readonly devKey: () => string | null
  readonly baseUrl: string
  readonly defaultMode: 'live' | 'test'
  /** Left by the action before. */
  readonly notice: string | null
  readonly theme: Theme
  /** Of the browser, where a script has said it. */
  readonly browserZone: string | null
}

export interface AskFor {
  readonly query?: AskQuery
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** False leaves the workspace of the URL out. */
  readonly scoped?: boolean
  readonly streamed?: boolean
  readonly asValue?: boolean
}

/** More of them are shown by their ids. */
const MOST_WORKSPACES = 1_000

export class Visit {
  readonly #parts: VisitParts
  readonly who: Who
  readonly url: URL
  readonly params: Readonly<Record<string, string>>
  readonly scope: VisitScope
  readonly formToken: string
  readonly isDev: boolean
  readonly baseUrl: string
  readonly notice: string | null
  readonly session: string
  readonly theme: Theme
  #newest: Promise<PageOfWorkspaces> | null = null
  #workspaces: Promise<readonly WorkspaceName[]> | null = null
  #summary: Promise<Summary | null> | null = null
  #self: string | null = null
  readonly now = Date.now()

  constructor(parts: VisitParts) {
    this.#parts = parts
    ;({ who: this.who, url: this.url, params: this.params, scope: this.scope, theme: this.theme } = parts)
    ;({ formToken: this.formToken, isDev: this.isDev, baseUrl: this.baseUrl } = parts)
    ;({ notice: this.notice, session: this.session } = parts)
  }

  /** For lines that work as they are pasted: in dev mode, and only for whoever may make keys. */
  get devKey(): string | null {
    return this.may('createApiKey') ? this.#parts.devKey() : null
  }

  /** IANA name; times are shown in it: as the person chose, else as the browser is, else UTC. */
  get zone(): string {
    return this.who.person?.time_zone ?? this.#parts.browserZone ?? 'UTC'
  }

  query(name: string): string | null {
    const value = this.url.searchParams.get(name)
    return value === null || value === '' ? null : value
  }

  /** True where a script asks, which has what stands around the page. */
  get isPart(): boolean {
    return this.header('x-postern-part') !== null
  }

  header(name: string): string | null {
    const value = this.#parts.headers[name]
    return typeof value === 'string' ? value : null
  }

  /** Whether the person may do that; `isOwn` is false for what belongs to somebody else. Pages leave out what /v1 would refuse. */
  may(operation: Operation, isOwn = true): boolean {
    const least = leastFor(operation, isOwn)
    if (least === 'bodies' || least === 'subjects') return this.can(least)
    return reaches(this.who.role ?? 'viewer', least)
  }

  /** Nothing but a second factor of one's own can be seen to: it is required, and there is none yet. */
  get mustEnrol(): boolean {
    return this.who.permissions?.includes('enrol') ?? false
  }

  can(permission: string): boolean {
    return this.who.permissions?.includes(permission) ?? true
  }

  async fetch(
    method: AskMethod,
    path: string,
    { query = {}, body, headers, scoped = true, ...as }: AskFor = {},
  ): Promise<AskAnswer> {
    const { ask, session, address, look, scope } = this.#parts
    const workspace = scoped && scope.workspace !== null ? { 'x-workspace-id': scope.workspace } : {}
    return ask(method, path + queryText(query), {
      ...{ session, address, look },
      ...as,
      headers: { ...workspace, ...headers },
      ...(body !== undefined && { body }),
    })
  }

  /** The JSON of a success; throws AskError. */
  async ask<T>(method: AskMethod, path: string, options: AskFor = {}): Promise<T> {
    return jsonOf<T>(await this.fetch(method, path, { asValue: true, ...options }))
  }

  /** A page of a list, at the cursor of the URL. */
  list<T>(path: string, query: AskQuery = {}, options: AskFor = {}): Promise<T> {
    const cursor = this.query('cursor')
    return this.ask<T>('GET', path, { ...options, query: { limit: 100, cursor, ...query } })
  }

  /** As ask, but null where /v1 says 404. */
  async find<T>(path: string, options: AskFor = {}): Promise<T | null> {
    try {
      return await this.ask<T>('GET', path, options)
    } catch (error) {
      if (error instanceof AskError && error.problem.status === 404) return null
      throw error
    }
  }

  /** A value, or the problem instead: for one part of a page that may fail while the rest is shown. */
  async part<T>(path: string, options: AskFor = {}): Promise<T | Problem> {
    try {
      return await this.ask<T>('GET', path, options)
    } catch (error) {
      if (error instanceof AskError) return error.problem
      throw error
    }
  }

  /**
   * What stands around the pages, at most a second old and shared by all who may see the same: whose rights differ, or
   * who looks at another workspace, gets another answer.
   */
  async #around<T>(path: string, options: AskFor): Promise<T> {
    const { role, permissions = [] } = this.who
    const workspace = options.scoped === false ? null : this.scope.workspace
    const key = JSON.stringify(['around', path, role, permissions, workspace])
    const ask = () => this.ask<T>('GET', path, options)
    let isOwn = false
    const make = () => {
      isOwn = true
      return ask()
    }
    const { kept } = this.#parts
    // a script asks since something has happened just now
    const asked = this.isPart ? kept.fresh(key, make) : kept.get(key, make)
    try {
      return await asked
    } catch (error) {
      // the session of somebody else may have ended meanwhile
      if (isOwn) throw error
      return ask()
    }
  }

  #askWorkspaces(cursor: string): Promise<PageOfWorkspaces> {
    return this.ask('GET', '/v1/workspaces', { query: { limit: 100, cursor }, scoped: false })
  }

  /** The newest hundred that the person may see, for the page and for what stands around it. */
  newestWorkspaces(): Promise<PageOfWorkspaces> {
    this.#newest ??= this.#around('/v1/workspaces', { query: { limit: 100 }, scoped: false })
    return this.#newest
  }

  async #allWorkspaces(): Promise<readonly WorkspaceName[]> {
    let page = await this.newestWorkspaces()
    const found = [...page.data]
    while (page.pagination.next_cursor !== null && found.length < MOST_WORKSPACES) {
      page = await this.#askWorkspaces(page.pagination.next_cursor)
      found.push(...page.data)
    }
    return found
  }

  /** Those that the person may see: asked once. */
  workspaces<T extends WorkspaceName>(): Promise<readonly T[]> {
    this.#workspaces ??= this.#allWorkspaces()
    return this.#workspaces as Promise<readonly T[]>
  }

  /** What stands beside the pages: asked once, and best before a page asks for its own. Null where it cannot be said. */
  summary(): Promise<Summary | null> {
    this.#summary ??= this.#around<Summary>('/v1/summary', {}).catch(() => null)
    return this.#summary
  }

  async queueState(): Promise<QueueStateRecord | null> {
    return (await this.summary())?.[this.scope.mode] ?? null
  }

  /** A path of ours with workspace and mode, and this query; null or '' leaves a name out, also `workspace` and `mode`. */
  link(path: string, query: AskQuery = {}): string {
    const { scope, defaultMode } = this.#parts
    const mode = scope.mode === defaultMode ? null : scope.mode
    return path + queryText({ workspace: scope.workspace, mode, ...query })
  }

  get self(): string {
    this.#self ??= this.here({})
    return this.#self
  }

  /** This very page with some parameters changed; `cursor` never stays. */
  here(change: AskQuery): string {
    return this.beside(this.url.pathname, change)
  }

  /**
   * This page in another workspace, or in all of them. One thing belongs to one workspace: from its page the way leads
   * to the list that it stands in.
   */
  inWorkspace(workspace: string | null): string {
    const [, room = ''] = this.url.pathname.split('/')
    if (room === 'workspaces')
      return this.link(workspace === null ? '/workspaces' : `/workspaces/${workspace}`, { workspace })
    const isOne = OF_A_WORKSPACE.has(room) && Object.keys(this.#parts.params).length > 0
    if (isOne || ONE_THING.some((name) => this.query(name) !== null))
      return this.link(`/${room}`, { workspace })
    return this.here({ workspace })
  }

  beside(path: string, change: AskQuery): string {
    const query: Record<string, AskQuery[string]> = Object.fromEntries(this.url.searchParams)
    return path + queryText({ ...query, cursor: null, ...change })
  }
}
