/**
 * NAME      bounce - what mails that came back say
 *   `read` prints the reading of any bounce, delay notice, delivery report or
 *   complaint, and touches nothing; `classify` explains one line of an SMTP
 *   dialogue. Neither needs a database, nor a configuration, but a site's own rules
 *   (`bounce.rules_file`, or --rules) are heard; ingest.ts is another matter.
 *   `show` prints the report behind an event, as it came. `rotate-key` changes the key that signs
 *   return paths.
 *   For mail systems that deliver bounces to a program instead of the bounce door: `bounce ingest --recipient ADDRESS`
 *   in a pipe transport. Does what the door does, with or without a running daemon. A return path that we did not sign
 *   is refused with 65, as the door refuses it at RCPT. A mail that came to another address is believed as far as what
 *   it returns is signed (T2), kept as an unverified event when only its Message-ID fits (T3), and else dropped (T4):
 *   with 0 where a pipe named the recipient, since a refusal would be mailed to somebody who wrote nothing.
 */
import { systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { ConfigError } from '../config/problem.js'
import { bringRing, keptRing, liveKeys, rotateKeys } from '../keys/return-path.js'
import { parseAddressList } from '../mail/address.js'
import { fieldValue, scanHeader } from '../mail/header.js'
import { parseReply } from '../mail/reply.js'
import { bounceTypesOf } from '../mail/report/category.js'
import { CATEGORIES, type CategoryRule, classify as classifyReason } from '../mail/report/classify.js'
import { readReport } from '../mail/report/read-report.js'
import type { Report, ReportKind } from '../mail/report/report.js'
import { isReportAddress, readReturnPath } from '../mail/return-path.js'
import { createDomainReportIntake } from '../outcome/domain-report.js'
import { createIntake, type Intake, readKept } from '../outcome/report.js'
import { rulesIn } from '../outcome/rules.js'
import { loggedEvent } from '../record/event.js'
import { command, type Globals, type Subject } from './command.js'
import { type CliContext, configOf, storeCommand, withContext } from './context.js'
import { badInput, type ExitCode, endingOf } from './exit.js'
import { clean, fields, tableOf } from './table.js'
import { STDIN } from './terminal.js'

/** Where mail systems note the envelope recipient, most exact first. `To` is the writer's, and proves nothing. */
const NOTED = ['x-original-to', 'delivered-to', 'envelope-to', 'x-envelope-to']

/** The addresses in the header that have the form of a return path. */
const candidates = (raw: Buffer): readonly string[] => {
  const { fields: all } = scanHeader(raw)
  return NOTED.flatMap((name) =>
    all
      .filter((field) => field.name === name)
      .flatMap((field) => parseAddressList(fieldValue(raw, field)))
      .map(({ address }) => address)
      .filter((address) => readReturnPath(address) !== null),
  )
}

const intakeOf = async ({ store, deps, config }: CliContext): Promise<Intake> => {
  await bringRing(store, config.data_dir)
  const { keys } = await liveKeys(store, deps.pepper)
  return createIntake({
    store,
    keys,
    clock: systemClock,
    domain: config.bounce.domain,
    lifetime: config.relay.lifetime,
    rules: () => rulesIn(config.bounce.rules_file),
  })
}

const ownAmong = async (intake: Intake, addresses: readonly string[]): Promise<string | null> => {
  for (const address of addresses) if (await intake.verifyRecipient(address)) return address
  return null
}

/** What a receiver reports of a domain; throws where it is not kept. */
const takeDomainReport = async ({ store, config }: CliContext, raw: Uint8Array) => {
  const parts = { store, clock: systemClock, domain: config.bounce.domain }
  const { kind, result, why, reporter, domains } = await createDomainReportIntake(parts).takeReport(raw)
  if (result !== 'read' && result !== 'known') throw badInput(why ?? NOT_TAKEN[result])
  return { kind, result, reporter, domains }
}

const NOT_TAKEN: Readonly<Record<'no_domain' | 'full' | 'unreadable' | 'none', string>> = {
  none: 'there is no report in this mail',
  unreadable: 'the report cannot be read',
  no_domain: 'the report is about no domain of this installation',
  full: 'too many reports about this domain today',
}

const STRANGE =
  'the mail names no return path of ours, and nothing in it is signed by us; give its envelope recipient with --recipient'
const UNKNOWN: Partial<Record<ReportKind, string>> = {
  none: 'the mail reports nothing',
  autoreply: 'an automatic reply, which says nothing about delivery',
}

const ingestCommand = command({
  usage: 'ingest [file]',
  summary: 'Take in a bounce mail from a file or standard input, as the bounce door does',
  positionals: { file: { type: 'string', describe: 'The mail; - or nothing: standard input' } },
  options: { recipient: { type: 'string', describe: 'Envelope recipient; else read from the header' } },
  examples: [[`postern bounce ingest --recipient \${recipient}`, 'in a pipe transport of Postfix']],
  run: async (args, terminal) => {
    const raw = await terminal.readInput(args.file ?? STDIN)
    await withContext(args, async (context) => {
      if (args.recipient !== undefined && isReportAddress(args.recipient, context.config.bounce.domain)) {
        const taken = await takeDomainReport(context, raw)
        return terminal.data(taken, (paint) => fields(paint, Object.entries(taken)))
      }
      const named = args.recipient === undefined ? candidates(raw) : [args.recipient]
      const intake = await intakeOf(context)
      const address = await ownAmong(intake, named)
      if (address === null && named[0] !== undefined && readReturnPath(named[0]) !== null)
        throw badInput(`${named[0]} is no return path that we signed; nothing was taken in`)
      const made = await intake.ingest(address ?? '', raw)
      if (made.tier === 'T4' && args.recipient === undefined) throw badInput(UNKNOWN[made.kind] ?? STRANGE)
      const record = {
        kind: made.kind,
        trust: made.tier,
        email_id: made.emailId,
        status: made.status,
        suppressed: made.suppressed,
      }
      terminal.data(record, (paint) => fields(paint, Object.entries(record)))
    })
  },
})

const OPTIONS = {
  rules: { type: 'string', describe: 'File with rules of your own; else bounce.rules_file' },
} as const

/** Who only wants a mail read should not need a configuration that is good, or may be read. */
const rulesOf = (
  args: Pick<Globals, 'config'> & { readonly rules?: string | undefined },
): readonly CategoryRule[] => {
  if (args.rules !== undefined) return rulesIn(args.rules)
  let file: string | null = null
  try {
    file = configOf(args).bounce.rules_file
  } catch (error) {
    if (args.config !== undefined || !(error instanceof ConfigError)) throw error
  }
  return rulesIn(file)
}

interface Reading {
  readonly file: string
  readonly report: Report
}

const readingRecord = ({ file, report }: Reading) => ({
  file,
  kind: report.kind,
  ...(report.feedbackType === undefined ? {} : { feedbackType: report.feedbackType }),
  recipients: report.recipients.map((one) => ({
    address: one.address,
    action: one.action,
    status: one.status,
    class: one.class,
    category: one.category,
    fault: one.fault,
    diagnostic: one.diagnostic,
  })),
})

const kindOf = ({ report: { kind, feedbackType } }: Reading): string =>
  feedbackType === undefined ? kind : `${kind} ${feedbackType}`

interface Line {
  readonly reading: Reading | null
  readonly one: Report['recipients'][number] | undefined
}

/** A line for each recipient; the file stands in the first. */
const readings = tableOf<Line>([
  ['file', ({ reading }) => reading?.file ?? ''],
  ['kind', ({ reading }) => reading && kindOf(reading)],
  ['recipient', ({ one }) => one?.address],
  ['action', ({ one }) => one?.action],
  ['status', ({ one }) => one?.status],
  ['class', ({ one }) => one?.class],
  ['because', ({ one }) => one?.category && CATEGORIES[one.category].title],
])

const linesOf = (reading: Reading): readonly Line[] =>
  reading.report.recipients.length === 0
    ? [{ reading, one: undefined }]
    : reading.report.recipients.map((one, i) => ({ reading: i === 0 ? reading : null, one }))

const read = command({
  usage: 'read [file..]',
  summary: 'Read bounce mails and print what they say (- or nothing: standard input)',
  positionals: {
    file: { type: 'string', array: true, describe: 'Mails as files, in RFC 5322 form or mbox' },
  },
  options: OPTIONS,
  examples: [['$0 bounce read --json new/*', 'a mailbox full of bounces, as JSON']],
  run: async (args, terminal) => {
    const files = args.file === undefined || args.file.length === 0 ? [STDIN] : args.file
    const rules = rulesOf(args)
    const found: Reading[] = []
    let exit: ExitCode = 0
    for (const file of files) {
      try {
        found.push({ file, report: await readReport(await terminal.readInput(file), rules) })
      } catch (error) {
        const ending = endingOf(error)
        if (ending.exit === 70) throw error
        terminal.say(`postern: ${ending.message}`)
        exit = ending.exit
      }
    }
    terminal.data(found.map(readingRecord), (paint) => readings(paint, found.flatMap(linesOf)))
    return exit
  },
})

const classify = command({
  usage: 'classify <reply>',
  summary: 'Explain a reply such as "550 5.7.1 Message rejected as spam"',
  positionals: { reply: { type: 'string', demandOption: true, describe: 'What the server said' } },
  options: OPTIONS,
  examples: [["$0 bounce classify '550 5.1.1 User unknown'", '']],
  run: async (args, terminal) => {
    const reply = parseReply(args.reply)
    if (reply === null)
      throw badInput('classify needs a reply that begins with its code, such as "550 5.1.1 no such user"')
    const verdict = classifyReason(reply, rulesOf(args))
    const { title } = CATEGORIES[verdict.category]
    terminal.data(
      { ...reply, ...verdict, title, provider_types: bounceTypesOf(verdict.category) },
      () => `${verdict.class}  ${verdict.category}: ${title} (fault: ${verdict.fault})`,
    )
  },
})

const show = storeCommand({
  usage: 'show <event>',
  summary: 'The report behind an event, as it came (its first 64 KiB)',
  positionals: { event: { type: 'string', demandOption: true, describe: 'Id of the event, evt_…' } },
  options: { raw: { type: 'boolean', describe: 'Octet for octet, for a file or another program' } },
  examples: [['$0 bounce show --raw evt_01… > report.eml', 'into a file']],
  run: async ({ store, account }, args, terminal) => {
    const event = await store.loggedEvent(account.id, args.event)
    if (event === null || event.emailId === null) throw new Fault('event.not_found')
    const report = await readKept(store, event.emailId, event)
    if (args.raw) return terminal.writeOctets(report)
    const record = { event: loggedEvent(event), raw: report.toString('base64') }
    terminal.data(record, () => report.toString().split(/\r?\n/).map(clean).join('\n'))
  },
})

const rotate = storeCommand({
  usage: 'rotate-key',
  summary: 'Sign return paths with a new key; what the old one signed is known for 45 days more',
  destroys: true,
  examples: [['$0 bounce rotate-key', '']],
  run: async ({ config, store }, args, terminal) => {
    await bringRing(store, config.data_dir)
    const before = await keptRing(store)
    const { current } = before
    if (args.dryRun) return terminal.data(before, () => `would retire key ${current}`)
    await terminal.confirm(`retire key ${current} of the return paths`, args.yes)
    const ring = await rotateKeys(store, Date.now())
    terminal.data(ring, () => `key ${ring.current} signs within a second`)
  },
})

export const bounceSubject: Subject = {
  name: 'bounce',
  commands: [read, ingestCommand, classify, show, rotate],
}
