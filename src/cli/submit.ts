/**
 * NAME      submit - a message to the submission door
 * DESCRIPTION
 *   One connection, one message. Nobody there, a connection that breaks and a
 *   4xx are 75: the caller keeps the message and tries again. A refused login is
 *   77, any other 5xx 65.
 */
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { parseReply } from '../mail/reply.js'
import { type ExitCode, Refusal } from './exit.js'
import type { Message } from './message.js'

interface SubmitTarget {
  readonly host: string
  readonly port: number
  readonly implicit: boolean
  /** Checks the certificate; not on loopback, where it is self-signed and nobody else can stand. */
  readonly verify: boolean
  readonly key: string | null
  /** Our name in EHLO. */
  readonly name: string
}

interface SmtpError extends Error {
  readonly code?: string
  readonly response?: string
}

const refusalOf = (error: SmtpError): Refusal => {
  const reply = error.response === undefined ? null : parseReply(error.response)
  const exit: ExitCode = reply === null || reply.code < 500 ? 75 : error.code === 'EAUTH' ? 77 : 65
  const [line = 'failed'] = (error.response ?? error.message).split(/\r?\n/)
  return new Refusal(exit, `sendmail: ${line}`)
}

const done =
  (resolve: () => void, reject: (error: Refusal) => void) =>
  (error?: Error | null): void => {
    if (error) reject(refusalOf(error))
    else resolve()
  }

/** Resolves when the door has taken the message for good. Rejects with a Refusal. */
export const submit = async (target: SubmitTarget, { sender, recipients, raw }: Message): Promise<void> => {
  const connection = new SMTPConnection({
    host: target.host,
    port: target.port,
    name: target.name,
    secure: target.implicit,
    requireTLS: target.key !== null && !target.implicit && target.verify,
    allowInternalNetworkInterfaces: true,
    connectionTimeout: 30_000,
    tls: { rejectUnauthorized: target.verify },
  })
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('error', (error: Error) => reject(refusalOf(error)))
      connection.once('end', () => reject(new Refusal(75, 'sendmail: the connection was closed')))
      connection.connect(done(resolve, reject))
    })
    const { key } = target
    if (key !== null) {
      await new Promise<void>((resolve, reject) => {
        connection.login({ user: 'sendmail', pass: key }, done(resolve, reject))
      })
    }
    await new Promise<void>((resolve, reject) => {
      connection.send({ from: sender, to: [...recipients] }, raw, done(resolve, reject))
    })
    connection.quit()
  } catch (error) {
    connection.close()
    throw error
  }
}
