/**
 * NAME      kept-mail - the octets of a mail, from the command line
 * DESCRIPTION
 *   `source` prints them as they are, so that they go into a file or another
 *   program; with --json as base64, as `raw` of a send takes them. `resend` makes
 *   a new mail of them, which a running daemon picks up.
 */
import { Fault } from '../base/fault.js'
import { acceptedRecord } from '../record/email.js'
import type { EmailRecord } from '../store/port/mail.js'
import { nullWhenMissing } from '../store/port/upkeep.js'
import { createSubmission } from '../submission/submission.js'
import { createSenderAllowed } from '../tenant/domain/domain.js'
import { command } from './command.js'
import { type CliContext, withContext } from './context.js'

const ID = { id: { type: 'string', demandOption: true, describe: 'Its id, em_…' } } as const

const find = async ({ store, account }: CliContext, id: string): Promise<EmailRecord> => {
  const found = await store.email({ accountId: account.id, workspaceId: null, mode: null }, id)
  if (found === null) throw new Fault('email.not_found')
  return found
}

export const source = command({
  usage: 'source <id>',
  summary: 'The octets of a mail, as they are relayed',
  positionals: ID,
  examples: [['$0 email source em_01… > mail.eml', 'into a file']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const { id } = await find(context, args.id)
      const raw = await context.store.body(id).catch(nullWhenMissing)
      if (raw === null) {
        const detail = `what was written in ${id} is no longer kept`
        throw new Fault('resource.conflict', { reason: 'body_gone', detail })
      }
      if (terminal.json) terminal.data({ id, raw: Buffer.from(raw).toString('base64') }, () => '')
      else terminal.writeOctets(raw)
    }),
})

export const resend = command({
  usage: 'resend <id>',
  summary: 'Send a mail once more, as a new one',
  positionals: ID,
  options: {
    to: {
      type: 'string',
      array: true,
      describe: 'Who is to get it; repeatable; default those that bounced, else all',
    },
    release: {
      type: 'boolean',
      describe: 'Send a mail of test mode for real, to addresses of identity.release_to',
    },
  },
  examples: [
    ['$0 email resend em_01…', 'to those that bounced'],
    ['$0 email resend em_01… --to ana@example.com', 'to Ana alone'],
  ],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const { store, config, deps } = context
      const record = await find(context, args.id)
      const submission = createSubmission({
        ...{ store, config, clock: deps.clock },
        senderAllowed: createSenderAllowed(store),
      })
      const { records } = await submission.resend(
        {
          record,
          store,
          to: args.to ?? null,
          toAnyone: true,
          release: args.release ? config.identity.release_to : null,
        },
        { idempotency: null, render: () => ({ status: 202, body: '' }) },
      )
      const [made] = records
      if (made === undefined) throw new Error('nothing was made')
      terminal.data(acceptedRecord(made), () => {
        const all = made.recipients.map(({ address, status }) => `${address} ${status}`)
        return `${made.id} is ${record.id} sent again, to ${all.join(', ')}`
      })
    }),
})
