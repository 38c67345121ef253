/**
 * NAME      webhook - endpoints that events are posted to, from the command line
 * DESCRIPTION
 *   The same verbs as over HTTP. The signing secret is printed when it is made and
 *   never again. Headers of one's own are read from a file: flags can be read in
 *   the process list.
 */
import { parseDuration } from '../config/units.js'
import { readTag } from '../mail/query/tag.js'
import { removed } from '../record/removed.js'
import { shownWebhook, webhook as webhookRecord } from '../record/webhook.js'
import type { KnownEndpoint } from '../store/port/hooks.js'
import { findWorkspace } from '../tenant/workspace.js'
import {
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  type Made,
  MOST_GRACE_MS,
  rotateSecret,
  updateEndpoint,
} from '../webhook/endpoint/endpoints.js'
import { countAfter } from '../webhook/endpoint/replay.js'
import { type EndpointWish, ignoredOf } from '../webhook/endpoint/wish.js'
import { command, type OptionArgs, type Subject } from './command.js'
import { badInput, usage } from './exit.js'
import { listed, MOST } from './rows.js'
import { fields, type Terminal, tableOf } from './terminal.js'
import { ago } from './time.js'
import { ENDPOINT, scopeOf, withHooks } from './webhook-context.js'
import { listen } from './webhook-listen.js'
import { events, replay, test } from './webhook-posts.js'

const WISH = {
  header: {
    type: 'string',
    describe: 'File of `Name: value` lines to send with each post; - is standard input',
  },
  domain: { type: 'string', array: true, describe: 'Only of mail from these domains' },
  tag: { type: 'string', array: true, describe: 'Only of mail with one of these tags, name or name=value' },
  fields: { choices: ['full', 'thin'], describe: 'thin posts no subject, address or tag' },
  'max-in-flight': { type: 'number', describe: 'Posts at the same time, 1 to 32; 1 keeps the order' },
  rate: { type: 'number', describe: 'Replayed posts a second, 1 to 1000' },
} as const

const readHeaders = async (file: string, terminal: Terminal): Promise<Record<string, string>> => {
  const text = String(await terminal.readInput(file))
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line, i) => {
      const [, name, value] = /^([^:\s]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
      if (name === undefined || value === undefined)
        throw badInput(`--header: line ${i + 1} is not Name: value`)
      return [name, value]
    }),
  )
}

const within = (name: string, value: number, most: number): number => {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value
  throw usage(`--${name}: ${value} is no whole number from 1 to ${most}`)
}

/** An option given empty takes back what was: `--domain ''`. */
const some = (list: readonly string[]): readonly string[] => list.filter((one) => one !== '')

const wishOf = async (args: OptionArgs<typeof WISH>, terminal: Terminal): Promise<Partial<EndpointWish>> => ({
  ...(args.header !== undefined && { headers: await readHeaders(args.header, terminal) }),
  ...(args.domain !== undefined && { domains: some(args.domain) }),
  ...(args.tag !== undefined && { tags: some(args.tag).map(readTag) }),
  ...(args.fields !== undefined && { fields: args.fields === 'thin' ? 'thin' : 'full' }),
  ...(args.maxInFlight !== undefined && { maxInFlight: within('max-in-flight', args.maxInFlight, 32) }),
  ...(args.rate !== undefined && { replayRate: within('rate', args.rate, 1000) }),
})

const healthText = ({ status, disabledReason, state }: KnownEndpoint): string => {
  if (status === 'disabled') return `disabled (${disabledReason})`
  return state.health === 'failing' && state.failingSince !== null
    ? `failing, ${ago(state.failingSince)}`
    : state.health
}

const rowsTable = tableOf<KnownEndpoint>([
  ['id', 'id'],
  ['endpoint', 'url'],
  ['health', healthText],
  ['waiting', 'waiting'],
  ['events', ({ events }) => events.join(',')],
  ['workspace', ({ workspaceId }) => workspaceId ?? 'all'],
  ['mode', 'mode'],
])

const made = ({ row, secret }: Made, terminal: Terminal): void => {
  terminal.data({ ...webhookRecord(row), signing_secret: secret }, () => secret)
  terminal.say(`${row.id} signs with this secret; it is shown now, and never again`)
}

const list = command({
  usage: 'list',
  summary: 'All endpoints, newest first; never their secrets',
  options: MOST,
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      const rows = await listed(
        (page) => context.hooks.store.endpoints(scopeOf(context), page),
        args,
        terminal,
      )
      terminal.data(rows.map(webhookRecord), (paint) => rowsTable(paint, rows))
    }),
})

const TYPES = {
  events: {
    type: 'string',
    array: true,
    describe: 'Types of events, such as email.delivered,email.bounced; default: all, also those to come',
  },
} as const

const namesIn = (list: readonly string[]): readonly string[] =>
  list.flatMap((one) => one.split(',')).map((one) => one.trim())

const create = command({
  usage: 'create <url>',
  summary: 'Post events to a URL from now on; prints the signing secret',
  positionals: { url: { type: 'string', demandOption: true, describe: 'An https URL' } },
  options: {
    ...TYPES,
    workspace: { type: 'string', describe: 'Only of this workspace, by id or slug; else of all of them' },
    mode: { choices: ['live', 'test'], default: 'live', describe: 'Of live or of test mail' },
    ...WISH,
  },
  examples: [
    ['$0 webhook create https://app.example/hook --events email.delivered,email.bounced', 'two types'],
  ],
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      const { deps, account, hooks } = context
      const workspace =
        args.workspace === undefined ? null : await findWorkspace(deps, account.id, args.workspace)
      const owner = {
        accountId: account.id,
        workspaceId: workspace?.id ?? null,
        mode: args.mode === 'test' ? ('test' as const) : ('live' as const),
      }
      const wish = await wishOf(args, terminal)
      const events = namesIn(args.events ?? ['*'])
      made(await createEndpoint(hooks, owner, { url: args.url, events, ...wish }), terminal)
      const ignored = ignoredOf(events)
      if (ignored.length > 0)
        terminal.say(`nothing is told of ${ignored.join(', ')}: there is no such event here`)
      if (args.mode === 'live')
        terminal.say('it is told of live mail; one for mail of test keys: --mode test')
    }),
})

const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const shownFields = (row: KnownEndpoint, behind: string): readonly (readonly [string, unknown])[] => [
  ['id', row.id],
  ['endpoint', row.url],
  ['health', healthText(row)],
  ['failures in a row', row.state.failures],
  ['last success', time(row.state.lastSucceededAt)],
  ['waiting posts', row.waiting],
  ['events ahead', behind],
  ['events', row.events.join(',')],
  ['workspace', row.workspaceId ?? 'all'],
  ['mode', row.mode],
  ['domains', row.domains.join(' ') || 'all'],
  [
    'tags',
    row.tags.map(({ name, value }) => (value === null ? name : `${name}=${value}`)).join(' ') || 'all',
  ],
  ['own headers', row.headerNames.join(' ') || 'none'],
  ['fields', row.fields],
  ['max in flight', row.maxInFlight],
  ['replayed a second', row.replayRate],
  ['old secret until', row.previousSecret === null ? null : time(row.previousUntil)],
  ['created', time(row.createdAt)],
]

/** One endpoint, and what of the log it has not come to. */
const showOne = async (hooks: Parameters<typeof countAfter>[0], row: KnownEndpoint, terminal: Terminal) => {
  const counted = await countAfter(hooks, row, row.state.mark)
  const behind = counted === 'gone' ? null : { events: counted.matched, capped: counted.isCapped }
  const text =
    behind === null ? 'more than the log has' : `${behind.events}${behind.capped ? ' or more' : ''}`
  terminal.data(shownWebhook(row, behind), (paint) => fields(paint, shownFields(row, text)))
}

const show = command({
  usage: 'show <id>',
  summary: 'One endpoint: how it does, and what waits',
  positionals: ENDPOINT,
  run: (args, terminal) =>
    withHooks(args, async (context) =>
      showOne(context.hooks, await findEndpoint(context.hooks, scopeOf(context), args.id), terminal),
    ),
})

const update = command({
  usage: 'update <id>',
  summary: 'Change, disable or enable an endpoint',
  positionals: ENDPOINT,
  options: {
    url: { type: 'string', describe: 'Another https URL' },
    ...TYPES,
    ...WISH,
    enable: { type: 'boolean', describe: 'Go on from where it stood' },
    'from-now': { type: 'boolean', describe: 'With --enable: pass over what waits' },
    disable: { type: 'boolean', describe: 'Post nothing; its place in the log is kept' },
  },
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      if (args.enable && args.disable) throw usage('either --enable or --disable')
      if (args.fromNow && !args.enable) throw usage('--from-now goes with --enable only')
      const row = await updateEndpoint(context.hooks, scopeOf(context), args.id, {
        ...(args.url !== undefined && { url: args.url }),
        ...(args.events !== undefined && { events: namesIn(args.events) }),
        ...(await wishOf(args, terminal)),
        ...(args.enable && { status: 'enabled' as const }),
        ...(args.disable && { status: 'disabled' as const }),
        ...(args.fromNow && { from: 'now' as const }),
      })
      await showOne(context.hooks, row, terminal)
    }),
})

const remove = command({
  usage: 'delete <id>',
  summary: 'Remove an endpoint, and all that is known of its posts',
  positionals: ENDPOINT,
  destroys: true,
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      const row = await findEndpoint(context.hooks, scopeOf(context), args.id)
      if (args.dryRun) return terminal.data(webhookRecord(row), () => `would delete ${row.id} ${row.url}`)
      await terminal.confirm(`delete the endpoint ${row.url} and its ${row.waiting} waiting posts`, args.yes)
      await deleteEndpoint(context.hooks, scopeOf(context), row.id)
      terminal.data(removed('webhook', row.id), () => `deleted ${row.id}`)
    }),
})

const rotate = command({
  usage: 'rotate <id>',
  summary: 'Make a new signing secret; the one so far signs as well for a while',
  positionals: ENDPOINT,
  options: { grace: { type: 'string', default: '24h', describe: 'How long: 0 to 7d' } },
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      const ms = parseDuration(args.grace)
      if (ms === null || ms > MOST_GRACE_MS) throw usage(`--grace: ${args.grace} is no time from 0 to 7d`)
      made(await rotateSecret(context.hooks, scopeOf(context), args.id, ms), terminal)
    }),
})

export const webhookSubject: Subject = {
  name: 'webhook',
  commands: [list, create, show, update, remove, rotate, test, events, replay, listen],
}
