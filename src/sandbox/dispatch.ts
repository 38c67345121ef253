/**
 * NAME      dispatch - hands one report to the bounce door
 * DESCRIPTION
 *   A client of a few lines, since no MTA is at home here: one connection, one
 *   mail from `<>`, no extensions but 8BITMIME. Resolves with the last reply;
 *   rejects when the door cannot be reached or goes silent.
 */
import { connect } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

const PATIENCE = 10_000

/** Dots that begin a line are doubled, and the last line is ended (RFC 5321 section 4.5.2). */
const stuffed = (raw: Buffer): string => {
  const text = raw.toString('latin1').replace(/^\./gm, '..')
  return `${text}${text.endsWith('\r\n') ? '' : '\r\n'}.\r\n`
}

/** Sends one mail from the null sender; resolves with the reply that decided it, rejects when the connection breaks. */
export const dispatch = (to: Address, hostname: string, recipient: string, raw: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const script = [
      `EHLO ${hostname}\r\n`,
      'MAIL FROM:<> BODY=8BITMIME\r\n',
      `RCPT TO:<${recipient}>\r\n`,
      'DATA\r\n',
      stuffed(raw),
    ]
    const socket = connect(to.port, to.host)
    let heard = ''
    let step = 0
    const end = (reply: string): void => {
      socket.end('QUIT\r\n')
      resolve(reply)
    }
    const onReply = (reply: string): void => {
      const next = script[step++]
      if (next === undefined || /^[45]/.test(reply)) end(reply)
      else socket.write(next, step === script.length ? 'latin1' : 'utf8')
    }
    socket.setEncoding('utf8')
    socket.setTimeout(PATIENCE, () => socket.destroy(new Error('the bounce door is silent')))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the bounce door hung up')))
    socket.on('data', (chunk: string) => {
      heard += chunk
      for (let end = heard.indexOf('\r\n'); end !== -1; end = heard.indexOf('\r\n')) {
        const line = heard.slice(0, end)
        heard = heard.slice(end + 2)
        if (line[3] !== '-') onReply(line)
      }
    })
  })
