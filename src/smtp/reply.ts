/**
 * NAME      reply - what the doors say
 * DESCRIPTION
 *   A reply is one line of text that begins with its basic code and, but for
 *   greetings, EHLO and 3xx, exactly one enhanced code (RFC 2034, RFC 3463).
 *   A Fault says its table row's codes, its dotted code, one sentence and the
 *   request id, in at most 512 octets with CRLF (RFC 5321 section 4.5.3.1.5).
 *   What is thrown and is no Fault is a bug: its text stays in the log.
 */
import { Fault, OutageError, outageOf } from '../base/fault.js'

/** Control characters would split a reply; other non-ASCII needs SMTPUTF8. */
const UNSAFE = /[^\x20-\x7e]+/g
const LONGEST = 510

const oneLine = (text: string): string => text.replace(UNSAFE, ' ').slice(0, LONGEST)

/** The reply to a refusal. Seconds of Retry-After are said in words. */
export const faultReply = (fault: Fault, requestId: string): string => {
  const { code, options, row } = fault
  const fields = options.errors?.map((error) => `${error.field}: ${error.message}`).join('; ')
  const human = fields !== undefined && fields !== '' ? fields : fault.message
  const said = options.retryAfter === undefined || human.includes('retry in')
  const retry = said ? '' : `, retry in ${Math.ceil(options.retryAfter)}s`
  const head = `${options.smtp ?? row.smtp} ${code}: `
  const tail = `${retry} (${requestId})`
  return head + oneLine(human).slice(0, LONGEST - head.length - tail.length) + tail
}

/** The same text with other codes: `421 4.7.0` for a fault that ends the session. */
export const recode = (codes: string, reply: string): string => `${codes}${reply.slice(9)}`

/** A refusal with a reply of its own: matters of SMTP grammar that no Fault names. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly reply: string

  /** May repeat what the client said, which can be long. */
  constructor(reply: string) {
    super(reply)
    this.reply = reply.slice(0, LONGEST)
  }
}

/** A reply with what the client gave after the colon, so that the log of the client shows which it was. */
export const naming = (reply: string, line: string): string => {
  const given = oneLine(line.slice(line.indexOf(':') + 1).trim()).slice(0, 300)
  return line.includes(':') && given !== '' ? `${reply}: ${given}` : reply
}

/** The reply to anything thrown; `report` gets what nobody meant to throw. */
export const replyTo = (error: unknown, requestId: string, report: (error: unknown) => void): string => {
  if (error instanceof Refusal) return error.reply
  if (error instanceof Fault) return faultReply(error, requestId)
  const outage = outageOf(error)
  // of a store that is gone the log has heard
  if (!(error instanceof OutageError)) report(error)
  if (outage !== null) return faultReply(outage, requestId)
  return faultReply(new Fault('internal.unexpected'), requestId)
}

const SYNTAX = {
  mail: '553 5.1.7 Bad sender address syntax',
  rcpt: '553 5.1.3 Bad recipient address syntax',
} as const

/** Replies that need no occasion. */
export const SAY = {
  ok: '250 2.0.0 Ok',
  senderOk: '250 2.1.0 Ok',
  recipientOk: '250 2.1.5 Ok',
  goAhead: '354 End data with <CR><LF>.<CR><LF>',
  bye: '221 2.0.0 Bye',
  badSender: SYNTAX.mail,
  badRecipient: SYNTAX.rcpt,
  tooManyRecipients: '452 4.5.3 Too many recipients',
  mailFirst: '503 5.5.1 Need MAIL before RCPT',
  recipientsFirst: '503 5.5.1 Need RCPT before DATA',
  helloFirst: '503 5.5.1 Send EHLO or HELO first',
  nestedMail: '503 5.5.1 A transaction is already open; RSET ends it',
  startTlsFirst: '530 5.7.0 Must issue a STARTTLS command first',
  requireTlsInClear: '555 5.5.4 REQUIRETLS needs TLS on this connection',
  unknown: '500 5.5.2 Command not recognized',
  notImplemented: '502 5.5.1 Command not implemented',
  lineTooLong: '500 5.5.2 Line too long',
  badCharacters: '500 5.5.2 Control characters in a command',
  cannotVerify: '252 2.5.0 Cannot verify; send a message and see',
  tooManyErrors: '421 4.7.0 Too many errors, closing',
  idle: '421 4.4.2 Timeout, closing',
  tooSlow: '421 4.4.2 The message comes too slowly, closing',
  busy: '421 4.3.2 Too many connections, try again later',
  tooManyFromAddress: '421 4.7.0 Too many connections from your address, try again later',
  tooManyOfCredential: '421 4.7.0 Too many connections with this credential, try again later',
  proxiesOnly: '421 4.7.0 This listener is for its proxies, which begin with a PROXY header',
  stopping: '421 4.3.2 Service stopping, try again later',
  noHttp: '421 4.7.0 This is no HTTP server, closing',
  full: '452 4.3.1 Too much mail in flight, try again later',
} as const
