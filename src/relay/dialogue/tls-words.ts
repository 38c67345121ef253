/**
 * NAME      tls-words - why no TLS came about, without OpenSSL's inner life
 * DESCRIPTION
 *   OpenSSL's errors name its functions, its files and its line numbers. What is left here is the reason, and for
 *   the two common mistakes what to do: TLS from the first byte at a port that waits for STARTTLS, and the reverse.
 */
import { connect } from 'node:tls'
import type { UpstreamTls } from '../../store/port/tenants.js'

export const USE_SMTP = 'this port speaks plain SMTP first: use smtp:// with STARTTLS'
export const USE_SMTPS = 'this port speaks TLS from the start: use smtps://'

const OPENSSL = /^(.*?)(?:[0-9A-F]+:)?error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]*)(?::.*)?$/
const NO_TLS = /wrong version number|packet length too long|http request/

export const tlsWords = (message: string, tls: UpstreamTls): string => {
  const found = OPENSSL.exec(message)
  if (found === null) return message
  const [, , reason = ''] = found
  return tls === 'implicit' && NO_TLS.test(reason) ? USE_SMTP : `no TLS could be agreed: ${reason.trim()}`
}

/** True when whoever listens there answers a TLS hello; a server that waits for one says nothing by itself. */
export const answersTls = (host: string, port: number, withinMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false })
    const end = (is: boolean): void => {
      socket.destroy()
      resolve(is)
    }
    socket.setTimeout(withinMs, () => end(false))
    socket.once('secureConnect', () => end(true))
    // an alert is TLS too
    socket.on('error', (error: NodeJS.ErrnoException) => end(/ALERT/.test(error.code ?? '')))
    socket.once('close', () => end(false))
  })
