/**
 * NAME      session - one conversation, command by command
 *   The SMTP server's side of RFC 5321 and 6409 without a socket: it gets lines and bodies, and says replies. Order of
 *   checks at MAIL: greeting, login, grammar, then the listener's own rules. RCPT, DATA and VRFY reveal nothing to
 *   someone who may not send. Every refused command is counted; a client that only makes errors is sent away.
 */
import { Fault } from '../base/fault.js'
import { newRequestId } from '../base/id.js'
import type { Log } from '../base/log.js'
import { isRecipient } from '../mail/address.js'
import {
  type EnvelopePath,
  type EnvelopeRecipient,
  type EnvelopeSender,
  isMailbox,
  naming,
  Refusal,
  readPath,
  readRecipient,
  readSender,
  recode,
  replyTo,
  SAY,
} from './commands.js'
import {
  type AcceptedSocket,
  beginLogin,
  type ListenerRules,
  type LoginExchange,
  type LoginStep,
  MECHANISMS,
  type Visit,
} from './rules.js'
import { Body } from './stream.js'

/** The connection as a session sees it. */
export interface Wire {
  readonly secure: boolean
  /** Says a reply; a 421 also ends the connection. */
  say(reply: string): void
  close(): void
  startTls(): void
  /** A login, or a MAIL that we took. */
  begun(): void
  /** A login, or a recipient that we took. */
  known(): void
  /** What follows is a body. `onbody` has the socket until it calls done. */
  collect(body: Body, onbody: (done: () => void) => void): void
}

/** Refusals in a row before the client is sent away. */
const MOST_ERRORS = 20
/** Commands before a login; a sound client needs six. */
const MOST_IDLE_TALK = 50
const HTTP = /^[A-Z]+ \S+ HTTP\/\d/i
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/
const LONGEST_HELLO = 255

const WELCOME = '235 2.7.0 Authentication successful'

type Work = Promise<void> | void

export class Session<Who> {
  readonly visit: Visit<Who>
  private readonly rules: ListenerRules<Who>
  private readonly wire: Wire
  private readonly log: Log
  private sender: EnvelopeSender | null = null
  private recipients: EnvelopeRecipient[] = []
  private login: LoginExchange | null = null
  private errors = 0
  /** Commands from someone who may not send yet. */
  private idleTalk = 0
  private stopping = false
  /** True while a message is on its way in: such a session may finish it. */
  receiving = false

  private gone = false

  constructor(
    rules: ListenerRules<Who>,
    wire: Wire,
    { ip, isProbe }: Pick<AcceptedSocket, 'ip' | 'isProbe'>,
    log: Log,
  ) {
    this.rules = rules
    this.wire = wire
    this.log = log
    this.visit = {
      ip,
      isProbe,
      hello: '',
      extended: false,
      tls: null,
      certificate: null,
      who: null,
      loggedIn: false,
    }
  }

  /** Greets, once the listener's rules know the client. */
  async open(): Promise<void> {
    try {
      await this.rules.connected(this.visit)
      await this.identify()
      if (this.gone) return this.leave()
      if (this.visit.who !== null) this.wire.known()
      this.wire.say(`220 ${this.rules.hostname} ESMTP Postern`)
    } catch (error) {
      this.wire.say(recode('421 4.3.0', this.replyTo(error)))
    }
  }

  /** TLS is up: all that was said in clear is forgotten (RFC 3207 section 4.2). */
  secured(tls: string, certificate: string | null): void {
    this.visit.tls = tls
    this.visit.certificate = certificate
    this.visit.hello = ''
    this.reset()
  }

  /** After STARTTLS: nothing is said, but who showed a certificate may be known by it. */
  async begin(): Promise<void> {
    try {
      await this.identify()
      if (this.gone) return this.leave()
      if (this.visit.who !== null) this.wire.known()
    } catch (error) {
      this.wire.say(recode('421 4.3.0', this.replyTo(error)))
    }
  }

  private async identify(): Promise<void> {
    if (this.visit.certificate !== null) await this.rules.certified?.(this.visit)
  }

  /** The service ends: at once for an idle session, else after the message. */
  stop(): void {
    this.stopping = true
    if (!this.receiving) this.wire.say(SAY.stopping)
  }

  /** The client is gone. */
  leave(): void {
    this.gone = true
    this.rules.left(this.visit)
  }

  tooLong(done: () => void): void {
    this.login = null
    this.refuse(new Refusal(SAY.lineTooLong))
    done()
  }

  command(bytes: Buffer, done: () => void): void {
    const work = this.attempt(bytes.toString('utf8'))
    if (work === undefined) done()
    else work.catch((error: unknown) => this.refuse(error)).finally(done)
  }

  private attempt(line: string): Work {
    try {
      return this.login === null ? this.dispatch(line) : this.loginStep(this.login.next(line))
    } catch (error) {
      this.login = null
      this.refuse(error)
    }
  }

  private dispatch(line: string): Work {
    if (!this.mayMail() && ++this.idleTalk > MOST_IDLE_TALK) return this.wire.say(SAY.tooManyErrors)
    if (CONTROLS.test(line)) throw new Refusal(SAY.badCharacters)
    const space = line.indexOf(' ')
    const verb = (space === -1 ? line : line.slice(0, space)).toUpperCase()
    switch (verb) {
      case 'MAIL':
        return this.mail(line)
      case 'RCPT':
        return this.rcpt(line)
      case 'DATA':
        return this.data(line)
      case 'RSET':
        this.reset()
        return this.ok(SAY.ok)
      case 'NOOP':
        return this.ok(SAY.ok)
      case 'EHLO':
      case 'HELO':
        return this.greet(verb, line.slice(5).trim())
      case 'STARTTLS':
        return this.startTls(line)
      case 'AUTH':
        return this.auth(line)
      case 'QUIT':
        this.wire.say(SAY.bye)
        return this.wire.close()
      case 'VRFY':
        throw new Refusal(this.mayMail() ? SAY.cannotVerify : SAY.notImplemented)
      case 'EXPN':
      case 'HELP':
      case 'TURN':
      case 'ETRN':
        throw new Refusal(SAY.notImplemented)
    }
    if (HTTP.test(line)) return this.wire.say(SAY.noHttp)
    throw new Refusal(SAY.unknown)
  }

  private greet(verb: 'EHLO' | 'HELO', name: string): void {
    if (name === '' || name.length > LONGEST_HELLO) throw new Refusal(`501 5.5.4 Syntax: ${verb} hostname`)
    this.visit.hello = name
    this.visit.extended = verb === 'EHLO'
    this.reset()
    const { rules } = this
    const lines = [rules.hostname]
    if (verb === 'EHLO') lines.push(...this.extensions())
    const last = lines.length - 1
    this.wire.say(lines.map((text, i) => `250${i === last ? ' ' : '-'}${text}`).join('\r\n'))
  }

  private extensions(): string[] {
    const { rules } = this
    return [
      'PIPELINING',
      `SIZE ${rules.size}`,
      '8BITMIME',
      'SMTPUTF8',
      'ENHANCEDSTATUSCODES',
      'DSN',
      ...(rules.startTls && !this.wire.secure ? ['STARTTLS'] : []),
      ...(this.wire.secure ? ['REQUIRETLS'] : []),
      ...(this.loginOffered() ? [`AUTH ${MECHANISMS}${this.mayBeExternal() ? ' EXTERNAL' : ''}`] : []),
    ]
  }

  private loginOffered(): boolean {
    const { login } = this.rules
    return login === 'clear' || (login === 'tls' && this.wire.secure)
  }

  private mayBeExternal(): boolean {
    return this.visit.certificate !== null && this.visit.who !== null
  }

  private startTls(line: string): void {
    if (!this.rules.startTls) throw new Refusal(SAY.notImplemented)
    if (this.wire.secure) throw new Refusal('503 5.5.1 TLS is already active')
    if (line.trim().length > 8) throw new Refusal('501 5.5.4 Syntax: STARTTLS')
    this.wire.startTls()
  }

  private auth(line: string): Work {
    if (this.rules.login === 'none') throw new Refusal(SAY.notImplemented)
    if (!this.loginOffered()) throw new Refusal(SAY.startTlsFirst)
    if (this.visit.hello === '') throw new Refusal(SAY.helloFirst)
    if (this.visit.loggedIn) throw new Refusal('503 5.5.1 Already authenticated')
    if (this.sender !== null) throw new Refusal('503 5.5.1 AUTH is not permitted in a transaction')
    const { login, step } = beginLogin(line.trim().split(/\s+/).slice(1), this.mayBeExternal())
    this.login = login
    return this.loginStep(step)
  }

  private loginStep(step: LoginStep): Work {
    if ('challenge' in step) return this.wire.say(`334 ${step.challenge}`)
    this.login = null
    if ('external' in step) {
      this.visit.loggedIn = true
      return this.ok(WELCOME)
    }
    return this.rules.authenticate(step.credentials, this.visit).then((who) => {
      this.visit.who = who
      this.visit.loggedIn = true
      if (this.gone) return this.leave()
      this.wire.begun()
      this.wire.known()
      this.ok(WELCOME)
    })
  }

  private mayMail(): boolean {
    return !this.rules.mustLogIn || this.visit.who !== null
  }

  private refuseStranger(): void {
    if (this.visit.hello === '') throw new Refusal(SAY.helloFirst)
    if (this.mayMail()) return
    if (this.rules.login === 'tls' && !this.wire.secure) throw new Refusal(SAY.startTlsFirst)
    throw new Fault('auth.credentials_missing', { detail: 'Authentication required' })
  }

  private mail(line: string): Work {
    this.refuseStranger()
    if (this.sender !== null) throw new Refusal(SAY.nestedMail)
    const path = readPath(line, naming(SAY.badSender, line))
    if (path.address !== '' && !isMailbox(path.address)) throw new Refusal(naming(SAY.badSender, line))
    const sender = readSender(path)
    // what came in clear has been seen already (RFC 8689, section 2)
    if (sender.requireTls && !this.wire.secure) throw new Refusal(SAY.requireTlsInClear)
    const accept = (): void => {
      if (sender.size !== null && sender.size > this.rules.size) throw this.tooBig()
      this.sender = sender
      this.wire.begun()
      this.ok(SAY.senderOk)
    }
    const wait = this.rules.mail(sender, this.visit)
    return wait === undefined ? accept() : wait.then(accept)
  }

  private rcpt(line: string): Work {
    this.refuseStranger()
    if (this.sender === null) throw new Refusal(SAY.mailFirst)
    const path = this.withDomain(readPath(line, naming(SAY.badRecipient, line)))
    if (!isRecipient(path.address)) throw new Refusal(naming(SAY.badRecipient, line))
    const recipient = readRecipient(path)
    const known = this.recipients.findIndex((other) => other.address === recipient.address)
    if (known === -1 && this.recipients.length >= this.rules.recipients) {
      throw new Refusal(SAY.tooManyRecipients)
    }
    const accept = (): void => {
      if (known === -1) this.recipients.push(recipient)
      else this.recipients[known] = recipient
      this.wire.known()
      this.ok(SAY.recipientOk)
    }
    const wait = this.rules.recipient(recipient, this.visit)
    return wait === undefined ? accept() : wait.then(accept)
  }

  private withDomain(path: EnvelopePath): EnvelopePath {
    const { postmasterAt } = this.rules
    if (postmasterAt === undefined || path.address.toLowerCase() !== 'postmaster') return path
    return { ...path, address: `postmaster@${postmasterAt}` }
  }

  private data(line: string): void {
    this.refuseStranger()
    const { sender, recipients } = this
    if (line.trim().length > 4) throw new Refusal('501 5.5.4 Syntax: DATA')
    if (sender === null) throw new Refusal('503 5.5.1 Need MAIL before DATA')
    if (recipients.length === 0) throw new Refusal(SAY.recipientsFirst)
    const body = new Body(this.rules.size, this.rules.memory, this.rules.kept?.(recipients))
    if (sender.size !== null && !body.reserve(sender.size)) {
      body.release()
      throw new Refusal(SAY.full)
    }
    this.receiving = true
    this.wire.collect(body, (done) => {
      this.reset()
      this.keep({ sender, recipients }, body, done)
    })
    this.wire.say(SAY.goAhead)
  }

  private keep(
    envelope: { sender: EnvelopeSender; recipients: EnvelopeRecipient[] },
    body: Body,
    done: () => void,
  ): void {
    const end = (say: () => void): void => {
      try {
        say()
      } finally {
        body.release()
        this.receiving = false
        if (this.stopping) this.wire.say(SAY.stopping)
        done()
      }
    }
    const refuse = (error: unknown): void => end(() => this.refuse(error))
    try {
      if (body.oversized) throw this.tooBig()
      if (body.crowdedOut) throw new Refusal(SAY.full)
      this.rules
        .message({ headroom: body.headroom, ...envelope }, body.bytes(), this.visit)
        .then((reply) => end(() => this.ok(reply)), refuse)
    } catch (error) {
      refuse(error)
    }
  }

  private tooBig(): Fault {
    return new Fault('request.body_too_large', { detail: `The largest message is ${this.rules.size} bytes` })
  }

  private reset(): void {
    this.sender = null
    this.recipients = []
  }

  private ok(reply: string): void {
    this.errors = 0
    this.wire.say(reply)
  }

  private replyTo(error: unknown): string {
    const requestId = newRequestId()
    if (error instanceof Fault) {
      this.log.info({ event: 'smtp_refused', request_id: requestId, code: error.code, ip: this.visit.ip })
    }
    return replyTo(error, requestId, (unexpected) =>
      this.log.error({ event: 'smtp_unexpected', request_id: requestId, err: unexpected }),
    )
  }

  private refuse(error: unknown): void {
    const reply = this.replyTo(error)
    this.wire.say(reply)
    if (error instanceof Fault && error.code === 'rate_limit.auth_failures') {
      this.wire.say(recode('421 4.7.0', reply))
    } else if (!reply.startsWith('421') && ++this.errors >= MOST_ERRORS) {
      this.wire.say(SAY.tooManyErrors)
    }
  }
}
