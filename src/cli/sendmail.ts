/**
 * NAME      sendmail - for cron and PHP, which know only one way to send
 * DESCRIPTION
 *   `postern sendmail -t -i -f sender` reads a message from standard input and
 *   hands it to the submission door. With --key-file (or $POSTERN_KEY_FILE) it
 *   signs in; without, it needs a listener that accepts this machine by address.
 *   Exits 75 when nobody listens or the door says "later", so that the caller
 *   tries again; nothing is kept here.
 * NOTES
 *   Flags are sendmail's, not ours: `-oi`, `-fuser@host`, `-ti`. What is about
 *   queues and debugging is taken and ignored. See sendmail(8) of Postfix.
 */
import { userInfo } from 'node:os'
import { isLoopback } from '../base/network.js'
import type { Config } from '../config/config.js'
import { loadConfig } from '../config/load.js'
import { command } from './command.js'
import { badInput, type ExitCode, Refusal, usage } from './exit.js'
import { STDIN } from './input.js'
import { asListening } from './listening.js'
import { type Message, prepareMessage } from './message.js'
import { readKey } from './send.js'
import { submit } from './submit.js'
import type { Terminal } from './terminal.js'

interface SendmailFlags {
  readonly recipients: string[]
  fromHeader: boolean
  ignoreDots: boolean
  /** `-q`: run the queue. Ours runs by itself. */
  queue: boolean
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

const login = (): string => {
  try {
    return userInfo().username
  } catch {
    return 'postmaster' // an id without a name, as in some containers
  }
}

/** A single `.` ends the message, unless -i says otherwise. */
const untilDot = (raw: Buffer): Buffer => {
  const dot = /(?:^|\r?\n)\.\r?\n/.exec(raw.toString('latin1'))
  return dot === null ? raw : raw.subarray(0, dot.index === 0 ? 0 : dot.index + 1)
}

const messageOf = (flags: SendmailFlags, config: Config, stdin: Buffer): Message => {
  const qualify = qualifier(config)
  const message = prepareMessage(flags.ignoreDots ? stdin : untilDot(stdin), {
    qualify,
    sender: qualify(flags.sender || login()),
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
