/**
 * NAME      exchange - a request to sign in, and its answer, as values
 * DESCRIPTION
 *   What the steps of sign-in see of a request, and what they answer, without the web server around it.
 *   Plain HTTP from another machine gets no form, but what was seen and the one line to change: a password in clear, and a
 *   cookie that the browser will not keep, help nobody. Headers that anybody may send are read for this alone; where links
 *   lead and what is Secure follows from base_url.
 *   After signing in the way leads to a path of ours, or `/`. What a browser could read as another host or scheme
 *   (`//host`, `/\host`, tabs and line ends that it drops) is none.
 */
import type { VNode } from 'preact'
import { isLoopback } from '../../base/network.js'
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
  readonly form: Form
  /** A cookie by its plain name; null where there is none. */
  cookie(name: string): string | null
}

export interface Reply {
  readonly status: number
  /** A path of ours, without the path of base_url. */
  readonly to?: string
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

export interface WrongWay {
  /** The address that the browser was seen at, such as `http://10.0.0.5:8080`. */
  readonly seen: string
  readonly from: string
  readonly why: string
  readonly change: string
}

const first = (value: string | string[] | undefined): string =>
  String(value ?? '')
    .split(',')[0]
    ?.trim() ?? ''

const nameOf = (host: string): string => {
  const url = `http://${host}`
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : host
}

const isHere = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || isLoopback(name)

/** Only what a host may look like is shown. */
const shown = (host: string): string => host.replace(/[^\w.:[\]-]/g, '').slice(0, 100)

/** null: the way is good. */
export const wrongWay = ({ headers, isTls, peer, address }: Asked, baseUrl: string): WrongWay | null => {
  const host = shown(first(headers['x-forwarded-host']) || first(headers.host))
  const told = first(headers['x-forwarded-proto']).toLowerCase()
  const isSecure = isTls || told === 'https'
  const seen = `${isSecure ? 'https' : 'http'}://${host}`
  const base = new URL(baseUrl)
  const wrong = (why: string, change: string): WrongWay => ({ seen, from: shown(address), why, change })
  if (base.protocol === 'https:') {
    const isProxied = told !== '' || first(headers['x-forwarded-for']) !== ''
    if (isSecure || (told === '' && (isProxied || isLoopback(peer)))) return null
    return wrong(`Postern is at ${base.origin}, and you came by plain HTTP.`, `open ${base.origin} instead`)
  }
  if (isSecure) {
    const why = 'A proxy in front of Postern speaks HTTPS, but base_url does not say so.'
    return wrong(why, `base_url: https://${host}`)
  }
  if (isHere(nameOf(host)) && isLoopback(peer)) return null
  const why = 'A password or a session must not travel by plain HTTP from another machine.'
  return wrong(why, isLoopback(peer) ? `base_url: https://${nameOf(host)}` : 'http: { tls: true }')
}

const PATH = /^\/(?![/\\])[\u0021-\u005b\u005d-\u007e]*$/

/** Nobody wants to come back to these. */
const DOORS = /^\/(?:sign-in|sign-out|second-factor|setup|invitation|v1)(?:[/?]|$)/

export const returnPath = (text: string | null | undefined): string => {
  if (typeof text !== 'string' || text.length > 2_000 || !PATH.test(text)) return '/'
  const url = new URL(text, 'http://postern.invalid')
  const path = `${url.pathname}${url.search}`
  if (url.host !== 'postern.invalid' || path.startsWith('//') || DOORS.test(path)) return '/'
  return path
}
