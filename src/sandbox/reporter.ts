/**
 * NAME      reporter - reports what became of the mails that the sandbox took, in DSNs, complaints and auto-replies
 *     Follows the log: of each recipient that was sent in test mode it writes the reports that its address asks for,
 *     and hands their bytes to the intake, as the bounce door does with those of others. No connection is made, so
 *     reports of live mail never wait for one. What is stored is a place in the log, below which all is reported:
 *     whoever dies goes on from there, and a report that comes twice has the same Message-ID and counts once.
 *     It works in small turns and rests after each as long as the turn took, and longer while live mail is about
 *     (base/give-way.ts): whatever the flood, most of the thread's time is left to others.
 *   NOTES
 *     A report that is not taken waits while the store is away. Any other failure is our mistake: after some tries it
 *     is given up, counted and logged.
 *   Writes what a far MTA writes: multipart/report with message/delivery-status (RFC 3464, RFC 3462), a feedback report
 *   (RFC 5965), or a vacation notice (RFC 3834). The returned part carries the headers that tell whose mail it was.
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { GiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import { randomText } from '../base/secret.js'
import { overIn, repeated, type Service } from '../base/service.js'
import type { Mode } from '../lifecycle/page.js'
import { makeRef, makeReturnPath, type ReturnPathKeys } from '../mail/return-path.js'
import type { Intake } from '../outcome/report.js'
import type { LogRow, MailOfEvent, WholeLog } from '../store/port/log.js'
import type { Store } from '../store/port/store.js'
import { PACE_MS, type SimulatedReport, type SimulationStep, simulationFor } from './simulation.js'

export interface Received {
  readonly sender: string
  readonly recipient: string
  /** Decoded, or null when not given. */
  readonly orcpt: string | null
  /** What NOTIFY said, upper case. */
  readonly notify: readonly string[]
  readonly envid: string | null
  /** Octets as latin1, each line with its CRLF. */
  readonly headers: string
  readonly arrivedAt: number
}

const CRLF = '\r\n'

/** Text as a string of its UTF-8 octets: a report is put together in latin1, byte for byte. */
const octets = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** One line, whatever was in it. */
const plain = (text: string): string => octets(text.replace(/[\x00-\x1f\x7f]+/g, ' '))

const dated = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000')

/** The headers of a mail, as far as its record tells them. */
export const headersOf = ({ from, to, subject, messageId, createdAt }: MailOfEvent): string =>
  [
    `From: ${plain(from)}`,
    ...(to.length === 0 ? [] : [`To: ${plain(to.join(', '))}`]),
    `Subject: ${plain(subject)}`,
    `Message-ID: ${plain(messageId)}`,
    `Date: ${dated(createdAt)}`,
    '',
  ].join(CRLF)

const fieldOf = ({ headers }: Received, name: string): string | null =>
  new RegExp(`^${name}: (.*)`, 'im').exec(headers)?.[1] ?? null

const TITLES = {
  delivered: 'Successful Mail Delivery Report',
  relayed: 'Successful Mail Delivery Report',
  delayed: 'Delayed Mail (still being retried)',
  failed: 'Undelivered Mail Returned to Sender',
} as const

interface Parts {
  /** Of its Message-ID: the same report has the same. */
  readonly id: string
  readonly hostname: string
  readonly boundary: string
  readonly now: number
}

const head = ({ id, now }: Parts, fields: Record<string, string>): string[] => [
  `Date: ${dated(now)}`,
  `Message-ID: <${id}>`,
  ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  'MIME-Version: 1.0',
]

const multipart = (type: string, parts: Parts, sections: readonly string[][]): string[] => [
  `Content-Type: multipart/report; report-type=${type}; boundary="${parts.boundary}"`,
  '',
  ...sections.flatMap((section) => [`--${parts.boundary}`, ...section, '']),
  `--${parts.boundary}--`,
  '',
]

const TEXT = ['Content-Type: text/plain; charset=us-ascii', '']

/** The mail that came, as the last part of a report. */
const returned = ({ headers }: Received): string[] => ['Content-Type: text/rfc822-headers', '', headers]

type Dsn = Extract<SimulatedReport, { kind: keyof typeof TITLES }>

const wordsOf = (report: Dsn): { basic: string; status: string; text: string } => {
  if (report.kind === 'delivered') return { basic: '250', status: '2.0.0', text: 'Delivered to mailbox' }
  if (report.kind === 'relayed')
    return { basic: '250', status: '2.0.0', text: 'Taken by a server that offers no DSN' }
  return { basic: report.kind === 'delayed' ? '451' : '550', status: report.status, text: report.text }
}

const perRecipient = (report: Dsn, mail: Received, { hostname, now }: Parts): string[] => {
  const { basic, status, text } = wordsOf(report)
  return [
    ...(mail.orcpt === null ? [] : [`Original-Recipient: ${octets(mail.orcpt)}`]),
    `Final-Recipient: rfc822; ${octets(mail.recipient)}`,
    `Action: ${report.kind}`,
    `Status: ${status}`,
    `Remote-MTA: dns; mx.${hostname}`,
    `Diagnostic-Code: smtp; ${basic} ${status} ${text}`,
    ...(report.kind === 'delayed' ? [`Will-Retry-Until: ${dated(now + 4 * 86_400_000)}`] : []),
  ]
}

const writeDsn = (report: Dsn, mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: `Mail Delivery System <MAILER-DAEMON@${parts.hostname}>`,
    To: mail.sender,
    Subject: TITLES[report.kind],
    'Auto-Submitted': 'auto-replied',
  }),
  ...multipart('delivery-status', parts, [
    [
      ...TEXT,
      `This is the sandbox at ${parts.hostname}.`,
      '',
      `<${octets(mail.recipient)}>: ${TITLES[report.kind]}`,
    ],
    [
      'Content-Type: message/delivery-status',
      '',
      `Reporting-MTA: dns; ${parts.hostname}`,
      ...(mail.envid === null ? [] : [`Original-Envelope-Id: ${mail.envid}`]),
      `Arrival-Date: ${dated(mail.arrivedAt)}`,
      '',
      ...perRecipient(report, mail, parts),
    ],
    returned(mail),
  ]),
]

const writeComplaint = (mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: `Feedback loop <fbl@${parts.hostname}>`,
    To: mail.sender,
    Subject: `FW: ${fieldOf(mail, 'Subject') ?? ''}`,
  }),
  ...multipart('feedback-report', parts, [
    [...TEXT, 'This is an email abuse report for a message that a recipient marked as spam.'],
    [
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      'User-Agent: Postern-Sandbox/1.0',
      'Version: 1',
      `Original-Mail-From: <${mail.sender}>`,
      `Original-Rcpt-To: <${octets(mail.recipient)}>`,
      `Arrival-Date: ${dated(mail.arrivedAt)}`,
      `Reporting-MTA: dns; ${parts.hostname}`,
    ],
    returned(mail),
  ]),
]

const writeAutoReply = (mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: octets(mail.recipient),
    To: mail.sender,
    Subject: `Out of office: ${fieldOf(mail, 'Subject') ?? ''}`,
    'In-Reply-To': fieldOf(mail, 'Message-ID') ?? '<unknown>',
    'Auto-Submitted': 'auto-replied (vacation)',
  }),
  ...TEXT,
  'I am away until Monday.',
  '',
]

export const writeReport = (report: SimulatedReport, mail: Received, parts: Parts): Buffer => {
  const lines =
    report.kind === 'complaint'
      ? writeComplaint(mail, parts)
      : report.kind === 'auto-reply'
        ? writeAutoReply(mail, parts)
        : writeDsn(report, mail, parts)
  return Buffer.from(lines.join(CRLF), 'latin1')
}

export interface ReporterParts {
  readonly store: Pick<
    Store,
    'follow' | 'logEnds' | 'readPlaces' | 'keepRead' | 'recipient' | 'email' | 'pool'
  >
  readonly ingest: Intake['ingest']
  readonly keys: ReturnPathKeys
  readonly hostname: string
  readonly bounceDomain: string
  /** Whose mail goes to the sandbox: that of test keys, or (null) all of it. */
  readonly mode: Mode | null
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Hears of live mail. */
  readonly way: GiveWay
  /** A report was given up. */
  readonly lost?: () => void
  /** How often it looks for new mail, in milliseconds. */
  readonly look?: number
  /** Milliseconds that `later` means. */
  readonly pace?: number
}

interface Waiting {
  readonly row: LogRow
  /** The place in the log right before it. */
  readonly before: string
  readonly steps: readonly SimulationStep[]
  /** Which of the steps is next. */
  at: number
  /** On the tick clock. */
  due: number
  tries: number
}

const LOOK_MS = 100
/** Recipients that wait in memory at most; the rest stays in the log. */
const MOST_WAITING = 2_000
const PAGE = 200
/** Reports of one turn; they share a commit. */
const AT_ONCE = 16
/** A place is stored this often, where reports were told, or else only the log went on. */
const KEEP_MS = 1_000
const KEEP_IDLE_MS = 60_000
const REST_MS = 1_000
const MOST_TRIES = 5

/** What NOTIFY must hold for a report; others are not DSNs and ignore it. */
const WANTS: Partial<Record<SimulatedReport['kind'], string>> = {
  delivered: 'SUCCESS',
  relayed: 'SUCCESS',
  delayed: 'DELAY',
  failed: 'FAILURE',
}

const isWanted = ({ kind }: SimulatedReport, notify: readonly string[]): boolean => {
  const word = WANTS[kind]
  return word === undefined || notify.includes(word)
}

const isHandedOver = ({ source, applied, recipientId }: LogRow): boolean =>
  source === 'smtp' && applied && recipientId !== null

class Reporter {
  readonly #parts: ReporterParts
  readonly #filter: WholeLog
  readonly #pace: number
  /** In the order of the log. */
  #waiting: Waiting[] = []
  /** What is stored, and up to where the log is read. */
  #stored: string | null = null
  #read: string | null = null
  #storedAt = Number.NEGATIVE_INFINITY
  #told = false

  constructor(parts: ReporterParts) {
    this.#parts = parts
    this.#pace = parts.pace ?? PACE_MS
    this.#filter = { types: ['email.sent'], ...(parts.mode !== null && { mode: parts.mode }) }
  }

  /** A first start reports from now on. */
  async begin(): Promise<void> {
    const { store } = this.#parts
    const { sandbox } = await store.readPlaces()
    const { newest } = await store.logEnds()
    if (sandbox === null) await store.keepRead({ to: newest, sandbox: { from: null } })
    this.#stored = (await store.readPlaces()).sandbox ?? newest
    this.#read = this.#stored
    this.#waiting = []
  }

  /** One small piece of work; answers how long to rest. */
  async turn(): Promise<number> {
    const { clock, way } = this.#parts
    if (this.#read === null) await this.begin()
    // a rest is taken on the machine's timers, and so is what it follows
    const began = performance.now()
    const more = await this.#readOn()
    const now = clock.tick()
    const due = this.#waiting.filter((one) => one.due <= now).slice(0, AT_ONCE)
    const told = await Promise.allSettled(due.map((one) => this.#tell(one)))
    this.#waiting = this.#waiting.filter(({ at, steps }) => at < steps.length)
    await this.keep(false)
    const failed = told.find((one) => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    if (!more && due.length === 0) return this.#parts.look ?? LOOK_MS
    const took = performance.now() - began
    return Math.max(1, took, way.restAfter(took))
  }

  async #readOn(): Promise<boolean> {
    const { store, clock } = this.#parts
    const from = this.#read ?? ''
    if (this.#waiting.length > MOST_WAITING - PAGE || from === (await store.logEnds()).newest) return false
    const found = await store.follow(this.#filter, from, PAGE)
    if (found === 'gone') {
      this.#read = (await store.logEnds()).oldest
      return true
    }
    let before = from
    for (const row of found.rows) {
      const { steps } = simulationFor(row.recipient ?? '')
      const due = clock.tick() + this.#restBefore(steps[0])
      if (isHandedOver(row) && steps.length > 0)
        this.#waiting.push({ row, before, steps, at: 0, due, tries: 0 })
      before = row.mark
    }
    this.#read = found.mark
    return !found.isEnd
  }

  #restBefore(step: SimulationStep | undefined): number {
    return step?.when === 'later' ? this.#pace : 0
  }

  async #tell(one: Waiting): Promise<void> {
    const { clock, log, lost } = this.#parts
    const { report } = one.steps[one.at] as SimulationStep
    this.#told = true
    try {
      await this.#report(one, report)
    } catch (error) {
      one.due = clock.tick() + REST_MS
      if (error instanceof Fault) throw error
      one.due += REST_MS * one.tries ** 2
      if (++one.tries < MOST_TRIES) return
      lost?.()
      const { emailId: email, recipientId: recipient } = one.row
      log.error(
        { event: 'sandbox_report_lost', email, recipient, error: (error as Error).message },
        'a simulated outcome was not told',
      )
    }
    one.at++
    one.tries = 0
    one.due = clock.tick() + this.#restBefore(one.steps[one.at])
  }

  async #report({ row, at }: Waiting, report: SimulatedReport): Promise<void> {
    const { hostname, clock, ingest } = this.#parts
    const mail = await this.#received(row)
    if (mail === null || !isWanted(report, mail.notify)) return
    const id = `${row.recipientId}.${at}@${hostname}`
    await ingest(
      mail.sender,
      writeReport(report, mail, { id, hostname, boundary: randomText(24), now: clock.now() }),
    )
  }

  /** The mail as the sandbox got it; null of one that is gone, or that nobody wants reports of. */
  async #received({ recipientId, mail, occurredAt }: LogRow): Promise<Received | null> {
    const { store, keys, bounceDomain } = this.#parts
    const owner = await store.recipient(recipientId ?? '')
    if (owner === null || owner.isDeleted || mail === null) return null
    const { accountId, workspaceId, emailId, address, orcpt, envid, poolId } = owner
    const email = await store.email({ accountId, workspaceId, mode: null }, emailId)
    if (email === null || email.mailFrom === '') return null
    const pool = await store.pool(accountId, poolId)
    return {
      sender: makeReturnPath(keys, bounceDomain, owner),
      recipient: address,
      orcpt: orcpt ?? `rfc822;${address}`,
      envid: envid ?? makeRef(keys, 'envid', owner),
      notify: pool?.notifySuccess === false ? ['FAILURE', 'DELAY'] : ['SUCCESS', 'FAILURE', 'DELAY'],
      headers: headersOf(mail),
      arrivedAt: occurredAt,
    }
  }

  /** Stores the place below which all is told, when it is time, or now. */
  async keep(now: boolean): Promise<void> {
    const { store, clock } = this.#parts
    const place = this.#waiting[0]?.before ?? this.#read
    if (place === null || place === this.#stored) return
    const every = this.#told ? KEEP_MS : KEEP_IDLE_MS
    if (!now && clock.tick() - this.#storedAt < every) return
    const kept = await store.keepRead({ to: place, sandbox: { from: this.#stored } })
    this.#storedAt = clock.tick()
    this.#told = this.#waiting.length > 0
    if (kept !== null) this.#stored = place
    // somebody else reports, too: from where that one is
    else this.#read = null
  }
}

export const createReporter = (parts: ReporterParts): Service => {
  const reporter = new Reporter(parts)
  const turns = repeated('sandbox reports', () => reporter.turn(), {
    restMs: REST_MS,
    told: ({ message }) => parts.log.error({ event: 'sandbox_failed', error: message }, 'not reported'),
    over: overIn(parts.log, 'not reported'),
  })
  return {
    name: turns.name,
    async start() {
      // before any mail is handed over
      await reporter.begin()
      await turns.start()
    },
    async stop() {
      await turns.stop()
      await reporter.keep(true)
    },
  }
}
