/**
 * NAME      page - one page of the dashboard
 * DESCRIPTION
 *   A page is its path, what it asks of /v1, its view, and the actions that its forms may post to that same path. An
 *   action ends with a redirect to what it made, or with a view that can be shown only once (a secret). When /v1
 *   refuses it, the page is shown again with the mistakes beside the fields and all that was typed.
 */
import type { Readable } from 'node:stream'
import type { ComponentChildren } from 'preact'
import type { Operation } from '../tenant/rights.js'
import type { AskAnswer, Problem } from './ask.js'
import type { Form } from './form.js'
import type { Theme, Visit } from './visit.js'

export interface View {
  /** Of the window; the heading is the page's own. */
  readonly title: string
  readonly body: ComponentChildren
  /** 200 where it is not said. */
  readonly status?: number
}

/** A form that was refused: shown again. */
export interface Refused {
  readonly action: string
  readonly form: Form
  readonly problem: Problem
}

export type Done =
  /** Seen after a redirect; `notice` is one sentence on top of it. */
  { readonly to: string; readonly notice?: string; readonly theme?: Theme } | { readonly view: View }

export interface Page {
  /** With `{name}` for parameters, as hapi has it. */
  readonly path: string
  /** What nobody may do for whom this page is of no use; unsaid, anybody sees it. */
  readonly opens?: Operation
  view(visit: Visit, refused: Refused | null): Promise<View>
  readonly actions?: Readonly<Record<string, (visit: Visit, form: Form) => Promise<Done>>>
  /** What each action does of /v1: who may not do that is told so before the form is looked at. */
  readonly does?: Readonly<Record<string, Operation>>
}

/** Who looks at what needs no session. */
export interface Reader {
  /** Null for whoever has not signed in. */
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
  view(reader: Reader): Promise<View>
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
  answer(reader: Reader): Promise<Raw>
}
