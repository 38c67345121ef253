/**
 * NAME      exchange - a request to sign in, and its answer, as values
 * DESCRIPTION
 *   What the steps of sign-in see of a request, and what they answer, without the
 *   web server around it.
 */
import type { VNode } from 'preact'
import type { Form } from '../form.js'

export interface Asked {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Of the browser, behind proxies too. */
  readonly address: string
  /** Whoever connected: the last proxy, where there is one. */
  readonly peer: string
  readonly isTls: boolean
  /** Of a POST; empty otherwise. */
  readonly form: Form
  /** A cookie by its plain name; null where there is none. */
  cookie(name: string): string | null
}

export interface Reply {
  readonly status: number
  /** A path of ours, without the path of base_url. */
  readonly to?: string
  /** Another site. */
  readonly away?: URL
  /** After the page was shown: a form must not lead to another site itself (form-action). */
  readonly next?: URL
  readonly page?: VNode
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** By plain name; null takes one away. */
  readonly cookies?:
    | Readonly<Record<string, { readonly value: string; readonly seconds: number | null } | null>>
    | undefined
}
