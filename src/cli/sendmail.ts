/**
 * NAME      sendmail - for cron and PHP, which know only one way to send
 *   `postern sendmail -t -i -f sender` reads a message from standard input and hands it to the submission door: one
 *   connection, one message. With --key-file (or $POSTERN_KEY_FILE) it signs in; without, it needs a listener that
 *   accepts this machine by address. The message gets CRLF lines and addresses with a domain (cron writes `From: root`,
 *   PHP often no From at all); every other octet stays as it came, and Bcc is taken out by the door.
 *   Nobody there, a connection that breaks and a 4xx are 75: the caller keeps the message and tries again. A refused
 *   login is 77, any other 5xx 65.
 * NOTES
 *   Flags are sendmail's, not ours: `-oi`, `-fuser@host`, `-ti`. What is about queues and debugging is taken and ignored.
 *   See sendmail(8) of Postfix.
 */

import { userInfo } from 'node:os'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { orElse } from '../base/fault.js'
import { isLoopback } from '../base/network.js'
import type { Config } from '../config/config.js'
import { loadConfig } from '../config/load.js'
import { formatMailbox, parseAddressList } from '../mail/address.js'
import { fieldValue, type HeaderField, type HeaderSection, scanHeader } from '../mail/header.js'
import { parseReply } from '../mail/reply.js'
import { isAllBody, submittedHeader } from '../mail/submitted.js'
import { command } from './command.js'
import { badInput, type ExitCode, Refusal, usage } from './exit.js'
import { asListening } from './listening.js'
import { readKey } from './send.js'
import { STDIN, type Terminal } from './terminal.js'

export interface Message {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly raw: Buffer
}

interface MessageOptions {
  readonly qualify: (address: string) => string
  /** Of the envelope; empty for the null sender. */
  readonly sender: string
  /** Who has written it, where it does not say so. */
  readonly author: string
  readonly fullName: string | null
}

const toCrlf = (raw: Buffer): Buffer =>
  Buffer.from(raw.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')

/** Without what stands before its first field; a message that has none is all body. */
const withHeader = (raw: Buffer): Buffer => {
  const section = submittedHeader(raw)
  const kept = raw.subarray(section.stray)
  return isAllBody(raw, section) ? Buffer.concat([Buffer.from('\r\n'), kept]) : kept
}

const octets = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

const values = (raw: Buffer, section: HeaderSection, ...names: readonly string[]): string[] =>
  section.fields
    .filter(({ name }) => names.includes(name))
    .map((field) => Buffer.from(fieldValue(raw, field), 'latin1').toString('utf8'))

/** `root (Cron Daemon)` and `"A" <b>`: the bare word before the domain that is missing. */
const bareFrom = (text: string): { name: string | null; word: string } | null => {
  const [, quoted, inner] = /^\s*(.*?)\s*<([^<>@\s]+)>\s*$/.exec(text) ?? []
  if (inner !== undefined) return { name: quoted?.replace(/^"|"$/g, '') || null, word: inner }
  const [, word, comment] = /^\s*([^\s<>@(),;]+)\s*(?:\(([^()]*)\))?\s*$/.exec(text) ?? []
  return word === undefined ? null : { name: comment ?? null, word }
}

const line = (name: string, value: string): Buffer => Buffer.from(`${name}: ${octets(value)}\r\n`, 'latin1')

const replace = (raw: Buffer, field: HeaderField, by: Buffer): Buffer =>
  Buffer.concat([raw.subarray(0, field.start), by, raw.subarray(field.end)])

/** A From that is missing is added; one without a domain gets ours. */
const repairFrom = (raw: Buffer, { fullName, author, qualify }: MessageOptions): Buffer => {
  const field = scanHeader(raw).fields.find(({ name }) => name === 'from')
  const text = field === undefined ? '' : fieldValue(raw, field)
  if (text.includes('@')) return raw
  const bare = bareFrom(text)
  const mailbox =
    bare === null ? { name: fullName, address: author } : { name: bare.name, address: qualify(bare.word) }
  const fresh = line('From', formatMailbox(mailbox))
  return field === undefined ? Buffer.concat([fresh, raw]) : replace(raw, field, fresh)
}

/** `To: root` gets our domain as well; a field that holds any whole address stays as it is. */
const repairTo = (raw: Buffer, name: 'To' | 'Cc', { qualify }: MessageOptions): Buffer => {
  const field = scanHeader(raw).fields.find((one) => one.name === name.toLowerCase())
  const text = field === undefined ? '' : fieldValue(raw, field)
  const bare = text.split(',').map(bareFrom)
  if (field === undefined || text.includes('@') || bare.includes(null)) return raw
  const mailboxes = bare.flatMap((one) =>
    one === null ? [] : [{ name: one.name, address: qualify(one.word) }],
  )
  return replace(raw, field, line(name, mailboxes.map(formatMailbox).join(', ')))
}

/** Addresses with or without a domain, one after another. */
const addressesIn = (text: string, qualify: MessageOptions['qualify']): string[] => {
  const bare = text.split(',').map(bareFrom)
  if (!text.includes('@') || bare.every((one) => one !== null)) {
    return bare.flatMap((one) => (one === null ? [] : [qualify(one.word)]))
  }
  return parseAddressList(text).map(({ address }) => qualify(address))
}

export const prepareMessage = (stdin: Buffer, options: MessageOptions): Message => {
  const whole = repairFrom(withHeader(toCrlf(stdin)), options)
  const raw = repairTo(repairTo(whole, 'To', options), 'Cc', options)
  const named = values(raw, scanHeader(raw), 'to', 'cc', 'bcc')
  return {
    sender: options.sender,
    recipients: named.flatMap((text) => addressesIn(text, options.qualify)),
    raw,
  }
}

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

interface SendmailFlags {
  readonly recipients: string[]
  fromHeader: boolean
  ignoreDots: boolean
  /** `-q`: run the queue. Ours runs by itself. */
  queue: boolean
  /** Empty for the null sender, as answers by programs have it. */
  sender: string | null
  fullName: string | null
  config: string | null
  keyFile: string | null
  server: string | null
}

const LONG = { '--config': 'config', '--key-file': 'keyFile', '--server': 'server' } as const
/** Flags that take a value, attached or as the next word. */
const VALUED = 'fFrNRVBbohpXLCdO'
/** `-o` and `-b` carry their value attached; so does `-q`, `-d` and `-O` may. */
const ATTACHED = 'obqd'

const isLong = (name: string): name is keyof typeof LONG => name in LONG

const setLetter = (flags: SendmailFlags, letter: string, value: string): void => {
  if (letter === 't') flags.fromHeader = true
  if (letter === 'i' || (letter === 'o' && value === 'i')) flags.ignoreDots = true
  if (letter === 'f' || letter === 'r') flags.sender = value.replace(/^<|>$/g, '')
  if (letter === 'q') flags.queue = true
  if (letter === 'F') flags.fullName = value
  if (letter === 'b' && value !== 'm') {
    const instead = value === 'p' ? '; postern queue list shows what waits' : ''
    throw usage(`sendmail: -b${value} is not supported${instead}`)
  }
}

/** Reads sendmail's own kind of command line. */
export const readFlags = (words: readonly string[]): SendmailFlags => {
  const flags: SendmailFlags = {
    recipients: [],
    fromHeader: false,
    ignoreDots: false,
    queue: false,
    sender: null,
    fullName: null,
    config: null,
    keyFile: null,
    server: null,
  }
  const left = [...words]
  const next = (flag: string): string => {
    const value = left.shift()
    if (value === undefined) throw usage(`sendmail: ${flag} needs a value`)
    return value
  }
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [, long = '', given] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(word) ?? []
    if (word === '--') flags.recipients.push(...left.splice(0))
    else if (isLong(long)) flags[LONG[long]] = given ?? next(long)
    else if (word.startsWith('--'))
      throw usage(`sendmail: unknown option ${word}; try: postern sendmail --help`)
    else if (!word.startsWith('-') || word === '-') flags.recipients.push(word)
    else {
      for (let at = 1; at < word.length; at++) {
        const letter = word.charAt(at)
        const rest = word.slice(at + 1)
        const valued = VALUED.includes(letter) || ATTACHED.includes(letter)
        const value = !valued ? '' : rest !== '' || ATTACHED.includes(letter) ? rest : next(`-${letter}`)
        setLetter(flags, letter, value)
        if (valued) break
      }
    }
  }
  return flags
}

/** `root` becomes `root@host`, as every sendmail does. */
const qualifier = (config: Config) => (address: string) =>
  address.includes('@') ? address : `${address}@${config.hostname}`

const login = (): string => orElse(() => userInfo().username, 'postmaster') // an id without a name, as in some containers

/** A single `.` ends the message, unless -i says otherwise. */
const untilDot = (raw: Buffer): Buffer => {
  const dot = /(?:^|\r?\n)\.\r?\n/.exec(raw.toString('latin1'))
  return dot === null ? raw : raw.subarray(0, dot.index === 0 ? 0 : dot.index + 1)
}

const messageOf = (flags: SendmailFlags, config: Config, stdin: Buffer): Message => {
  const qualify = qualifier(config)
  const author = qualify(flags.sender || login())
  const message = prepareMessage(flags.ignoreDots ? stdin : untilDot(stdin), {
    qualify,
    sender: flags.sender === '' ? '' : author,
    author,
    fullName: flags.fullName,
  })
  const recipients = [
    ...new Set([...flags.recipients.map(qualify), ...(flags.fromHeader ? message.recipients : [])]),
  ]
  if (recipients.length === 0) {
    throw flags.fromHeader
      ? badInput('sendmail: no recipient in To, Cc or Bcc')
      : usage('sendmail: name a recipient, or -t')
  }
  return { ...message, recipients }
}

/** Runs the shim on sendmail's own arguments. */
export const sendmail = async (words: readonly string[], terminal: Terminal): Promise<ExitCode> => {
  const flags = readFlags(words)
  if (flags.queue && !flags.fromHeader && flags.recipients.length === 0) return 0
  const config = loadConfig({ file: flags.config, env: process.env })
  const named = flags.keyFile ?? process.env.POSTERN_KEY_FILE ?? null
  const key = named === null || named === '' ? null : await readKey(terminal.readInput, named)
  const message = messageOf(flags, config, await terminal.readInput(STDIN))
  const [, host, port] = /^(.*):(\d+)$/.exec(flags.server ?? '') ?? []
  if (flags.server !== null && host === undefined)
    throw usage(`sendmail: --server ${flags.server} is not HOST:PORT`)
  const wanted = key === null ? ['none'] : ['starttls', 'implicit', 'none']
  const listener = asListening(config)
    .submission.filter(
      (one) =>
        wanted.includes(one.tls) &&
        (key !== null || one.ip_credentials) &&
        !one.proxy_protocol &&
        one.port !== 0,
    )
    .sort((a, b) => wanted.indexOf(a.tls) - wanted.indexOf(b.tls))[0]
  if (listener === undefined && host === undefined) {
    throw new Refusal(
      78,
      key === null
        ? 'sendmail needs --key-file, or a submission listener with tls: none and ip_credentials: true'
        : 'sendmail finds no submission listener with a fixed port; name one with --server HOST:PORT',
    )
  }
  const target = {
    host: host ?? listener?.host ?? '127.0.0.1',
    port: port === undefined ? (listener?.port ?? 0) : Number(port),
  }
  await submit(
    {
      ...target,
      implicit: listener?.tls === 'implicit',
      verify: !isLoopback(target.host),
      key,
      name: config.hostname,
    },
    message,
  )
  return 0
}

export const sendmailCommand = command({
  usage: 'sendmail [recipient..]',
  summary: 'Send a message from standard input, as sendmail(8) does',
  positionals: { recipient: { type: 'string', array: true, describe: 'Envelope recipients' } },
  options: {
    t: { type: 'boolean', describe: 'Take the recipients from To, Cc and Bcc' },
    i: { type: 'boolean', describe: 'A line with a single dot does not end the message' },
    f: { type: 'string', describe: 'Sender' },
    F: { type: 'string', describe: 'Full name of the sender, when there is no From' },
    'key-file': { type: 'string', describe: 'File that holds an API key; else $POSTERN_KEY_FILE' },
    server: { type: 'string', describe: 'HOST:PORT of the submission door; else as configured' },
  },
  examples: [['sendmail_path = "postern sendmail -t -i --key-file /etc/postern/php.key"', 'in php.ini']],
  run: async () => {
    throw usage('sendmail must be the first word: postern sendmail -t -i')
  },
})
