/**
 * NAME      seen - by which way did this browser come?
 * DESCRIPTION
 *   A password in clear, and a cookie that the browser will not keep, help nobody:
 *   plain HTTP from another machine gets no form, but what was seen and the one
 *   line to change. Headers that anybody may send are read for this alone; where
 *   links lead and what is Secure follows from base_url.
 */
import { isLoopback } from '../../base/network.js'
import type { Asked } from './exchange.js'

export interface WrongWay {
  /** The address that the browser was seen at, such as `http://10.0.0.5:8080`. */
  readonly seen: string
  readonly from: string
  readonly why: string
  /** A line of the configuration. */
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
