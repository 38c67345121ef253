/**
 * NAME      ingest - a bounce mail handed in by a pipe
 * DESCRIPTION
 *   For mail systems that deliver bounces to a program instead of the bounce
 *   door: `bounce ingest --recipient ADDRESS` in a pipe transport. Does what the door
 *   does, with or without a running daemon. A return path that we did not sign
 *   is refused with 65, as the door refuses it at RCPT.
 */
import { systemClock } from '../base/clock.js'
import { parseAddressList } from '../mail/address.js'
import { fieldValue, scanHeader } from '../mail/header.js'
import { deriveKeys, readReturnPath, verifyReturnPath } from '../mail/return-path.js'
import { recordReport } from '../outcome/report.js'
import { command } from './command.js'
import { type House, withHouse } from './context.js'
import { badInput } from './exit.js'
import { STDIN } from './input.js'
import { fields } from './terminal.js'

/** Where mail systems note the envelope recipient, most exact first. */
const NOTED = ['x-original-to', 'delivered-to', 'envelope-to', 'x-envelope-to', 'to']

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

const isOurs = async ({ store, ground }: House, address: string): Promise<boolean> => {
  const token = readReturnPath(address)
  const owner = token === null ? null : await store.recipient(token.recipientId)
  if (token === null || owner === null) return false
  return verifyReturnPath(deriveKeys(ground.pepper), token, owner, systemClock.now())
}

const ownAmong = async (house: House, addresses: readonly string[]): Promise<string | null> => {
  for (const address of addresses) if (await isOurs(house, address)) return address
  return null
}

export const ingestCommand = command({
  usage: 'ingest [file]',
  summary: 'Take in a bounce mail from a file or standard input, as the bounce door does',
  positionals: { file: { type: 'string', describe: 'The mail; - or nothing: standard input' } },
  options: { recipient: { type: 'string', describe: 'Envelope recipient; else read from the header' } },
  examples: [[`postern bounce ingest --recipient \${recipient}`, 'in a pipe transport of Postfix']],
  run: async (args, terminal) => {
    const raw = await terminal.readInput(args.file ?? STDIN)
    await withHouse(args, async (house) => {
      const named = args.recipient === undefined ? candidates(raw) : [args.recipient]
      const address = await ownAmong(house, named)
      if (address === null) {
        throw badInput(
          named.length === 0
            ? 'the mail names no return path of ours; give its envelope recipient with --recipient'
            : `${named[0]} is no return path that we signed; nothing was taken in`,
        )
      }
      const parts = { store: house.store, keys: deriveKeys(house.ground.pepper), clock: systemClock }
      const made = await recordReport({ ...parts, lifetime: house.config.relay.lifetime }, address, raw)
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
