/**
 * NAME      rows - commands that are made of rows of the contract
 *   A row that says so is a command, too: its subject and verb, its words and its parameters are those of the row, and it
 *   reads from the store itself, so it also works while the daemon is down. What it shows is the record as the API has it.
 */
import { contract } from '../http/contract.js'
import type { Principal } from '../tenant/principal.js'
import { createTenants } from '../tenant/tenants.js'
import type { Command } from './command.js'
import { type CliContext, cliActor, storeCommand } from './context.js'
import { tellRecord } from './list.js'
import { fields } from './table.js'

/** Who owns the data folder, as the rows know their callers: an owner who looks at all of the account. */
const callerOf = ({ account, deps }: CliContext): Principal => {
  const actor = cliActor()
  return {
    accountId: account.id,
    via: 'session',
    id: actor.id,
    scope: 'platform',
    workspaceId: null,
    mode: 'live',
    limitPerMinute: deps.perMinute,
    role: 'owner',
    person: null,
    actor,
  }
}

type RouteRow = ReturnType<typeof contract>[number]

const shown = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value

const commandOf = (
  row: RouteRow,
  { summary = row.summary, about, examples, read }: NonNullable<RouteRow['command']>,
): Command => {
  const names = Object.keys(about)
  return storeCommand({
    usage: [String(row.cli).replace(/^\S+ /, ''), ...names.map((name) => `<${name}>`)].join(' '),
    summary,
    positionals: Object.fromEntries(
      Object.entries(about).map(([name, describe]) => [
        name,
        { type: 'string', demandOption: true, describe } as const,
      ]),
    ),
    examples,
    run: async (context, args, terminal) => {
      const { store, deps, config } = context
      const given = args as Readonly<Record<string, string | undefined>>
      const params = Object.fromEntries(names.map((name) => [name, given[name] ?? '']))
      const record = await read(
        { principal: callerOf(context), workspace: null, params },
        { store, config, tenants: createTenants(deps), clock: deps.clock },
      )
      await tellRecord(context, terminal, record, (paint) =>
        fields(
          paint,
          Object.entries(record).map(([name, value]) => [name, shown(value)]),
        ),
      )
    },
  })
}

/** The commands of rows about a subject. */
export const rowCommands = (subject: string): readonly Command[] =>
  contract(true).flatMap((row) =>
    row.command !== undefined && String(row.cli).startsWith(`${subject} `)
      ? [commandOf(row, row.command)]
      : [],
  )
