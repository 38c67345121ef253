/**
 * NAME      ingest - a bounce mail handed in by a pipe
 * DESCRIPTION
 *   For mail systems that deliver bounces to a program instead of the bounce
 *   door: `bounce ingest --recipient ADDRESS` in a pipe transport. Does what the door
 *   does, with or without a running daemon. A return path that we did not sign
 *   is refused with 65, as the door refuses it at RCPT.
 *   A mail that came to another address is believed as far as what it returns is signed (T2), kept
 *   as an unverified event when only its Message-ID fits (T3), and else dropped (T4): with 0 where
 *   a pipe named the recipient, since a refusal would be mailed to somebody who wrote nothing.
 */
import { systemClock } from '../base/clock.js'
import { bringRing, liveKeys } from '../keys/return-path.js'
import { parseAddressList } from '../mail/address.js'
import { fieldValue, scanHeader } from '../mail/header.js'
import type { ReportKind } from '../mail/report/report.js'
import { readReturnPath } from '../mail/return-path.js'
import { createIntake, type Intake } from '../outcome/report.js'
import { rulesIn } from '../outcome/rules.js'
import { command } from './command.js'
import { type CliContext, withContext } from './context.js'
import { badInput } from './exit.js'
import { STDIN } from './input.js'
import { fields } from './table.js'

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

const STRANGE =
  'the mail names no return path of ours, and nothing in it is signed by us; give its envelope recipient with --recipient'
const UNKNOWN: Partial<Record<ReportKind, string>> = {
  none: 'the mail reports nothing',
  autoreply: 'an automatic reply, which says nothing about delivery',
}

export const ingestCommand = command({
  usage: 'ingest [file]',
  summary: 'Take in a bounce mail from a file or standard input, as the bounce door does',
  positionals: { file: { type: 'string', describe: 'The mail; - or nothing: standard input' } },
  options: { recipient: { type: 'string', describe: 'Envelope recipient; else read from the header' } },
  examples: [[`postern bounce ingest --recipient \${recipient}`, 'in a pipe transport of Postfix']],
  run: async (args, terminal) => {
    const raw = await terminal.readInput(args.file ?? STDIN)
    await withContext(args, async (context) => {
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
