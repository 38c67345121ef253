/**
 * NAME      email-filter - which mails a command is about
 */
import { parseTime } from '../base/moments.js'
import { parseQuery, type Query, readTag } from '../mail/query.js'
import { STATUSES } from '../mail/status.js'
import { dayIn } from '../statistics/ask.js'
import type { EmailFilter } from '../store/port/mail.js'
import { findWorkspace } from '../tenant/workspace.js'
import type { OptionArgs } from './command.js'
import type { CliContext } from './context.js'
import { badInput } from './exit.js'
import { readPast } from './time.js'

export const FILTERS = {
  workspace: { type: 'string', describe: 'Only this workspace, by id or slug' },
  status: { choices: STATUSES, describe: 'Only this status' },
  mode: { choices: ['live', 'test'], describe: 'Only live or only test mail' },
  to: { type: 'string', describe: 'Only mail to this address' },
  tag: { type: 'string', describe: 'Only mail with this tag, as name:value' },
  since: { type: 'string', describe: 'Only newer: 2h, or an RFC 3339 time' },
  until: { type: 'string', describe: 'Only older: 2h, or an RFC 3339 time' },
} as const

type FilterArgs = OptionArgs<typeof FILTERS>

export const filterOf = async ({ deps, account }: CliContext, args: FilterArgs): Promise<EmailFilter> => {
  const { name, value } = readTag(args.tag ?? '')
  if (args.tag !== undefined && (name === '' || value === null))
    throw badInput(`--tag: ${args.tag} is not name:value`)
  const workspace =
    args.workspace === undefined ? null : await findWorkspace(deps, account.id, args.workspace)
  return {
    accountId: account.id,
    workspaceId: workspace?.id ?? null,
    mode: args.mode ?? null,
    status: args.status ?? null,
    to: args.to ?? null,
    tag: args.tag === undefined ? null : { name, value: value ?? '' },
    createdAfter: readPast('since', args.since),
    createdBefore: readPast('until', args.until),
  }
}

export const SEARCH = {
  q: { type: 'string', describe: 'Words, addresses and terms, as the q of GET /v1/emails' },
} as const

/** Days are those of this computer. */
export const queryOf = (q: string): Query => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const parsed = parseQuery(q, { day: (text) => dayIn(zone, text), time: parseTime })
  if ('mistake' in parsed) throw badInput(`--q ${parsed.mistake.message}`)
  return parsed.query
}
