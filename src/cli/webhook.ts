import { diallerOf } from '../base/dial.js'
import { parseTime } from '../base/moments.js'
import { parseDuration } from '../config/forms.js'
import { readTag } from '../mail/query.js'
import { MarkCodec } from '../record/event.js'
import { removed, settingsOf } from '../resource/member.js'
import {
  type Behind,
  eventsLeft,
  shownWebhook,
  type ToldPost,
  WEBHOOK,
  webhookEvent,
  webhook as webhookRecord,
  webhookReplay,
} from '../resource/webhook.js'
import { type KnownEndpoint, WEBHOOK_FORMATS, type WebhookFormat } from '../store/port/hooks.js'
import { findWorkspace } from '../tenant/workspace.js'
import {
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  type HookDeps,
  type HookScope,
  ignoredOf,
  type Made,
  MOST_GRACE_MS,
  rotateSecret,
  updateEndpoint,
  type WishedEndpoint,
} from '../webhook/endpoints.js'
import { newSigningSecret, typesIn } from '../webhook/formats.js'
import {
  behindOf,
  endpointsBehind,
  postsOf,
  type ReplayWish,
  replayEvent,
  replayMany,
  testEndpoint,
} from '../webhook/repost.js'
import {
  command,
  commandWith,
  type OptionArgs,
  type Subject,
  settingArgs,
  settingFields,
  settingOptions,
} from './command.js'
import { type CliContext, withContext } from './context.js'
import { badInput, usage } from './exit.js'
import { agreed, listing, tellRecord } from './list.js'
import { AT, ago, fields, paintStatus, readSpan } from './table.js'
import { type Terminal, whileAt } from './terminal.js'
import { listen } from './webhook-listen.js'

interface WebhookContext extends CliContext {
  readonly hooks: HookDeps
}

const ENDPOINT = {
  id: { type: 'string', demandOption: true, describe: 'Its id, wh_…' },
} as const

/** The command line sees all of the account. */
export const scopeOf = ({ account }: CliContext): HookScope => ({
  accountId: account.id,
  workspaceId: null,
  mode: null,
})

const hookCommand = commandWith<WebhookContext>((args, use) =>
  withContext(args, async (context) => {
    const { store, deps, config } = context
    const dialler = diallerOf(config)
    try {
      return await use({ ...context, hooks: { store, pepper: deps.pepper, clock: deps.clock, dialler } })
    } finally {
      await dialler.close()
    }
  }),
)

export const test = hookCommand({
  usage: 'test <id>',
  summary: 'Post a webhook.test now, and show what comes back',
  positionals: ENDPOINT,
  examples: [['$0 webhook test wh_01…', '']],
  run: async (context, args, terminal) => {
    const post = await testEndpoint(
      context.hooks,
      await findEndpoint(context.hooks, scopeOf(context), args.id),
    )
    terminal.data(webhookEvent(post), (paint) =>
      fields(paint, [
        ['result', post.state === 'succeeded' ? 'ok' : post.cause],
        ['status', post.status],
        ['milliseconds', post.ms],
        ['answer', post.answer],
      ]),
    )
    return post.state === 'succeeded' ? 0 : 69
  },
})

export const events = listing({
  path: 'webhook events <id>',
  summary: 'What was posted to an endpoint in the last four days, newest first',
  positionals: ENDPOINT,
  options: { failed: { type: 'boolean', describe: 'Only those whose last try failed' } },
  examples: [['$0 webhook events wh_01… --failed', 'what did not arrive']],
  what: 'posts',
  next: 'postern webhook test ID',
  most: 50,
  rows: async (context, args) => {
    const row = await findEndpoint(context, scopeOf(context), args.id)
    return (page) => postsOf(context, row, args.failed === true, page)
  },
  record: (post: ToldPost) => webhookEvent(post),
  columns: [
    ['answered', 'updatedAt', AT],
    ['event', 'eventId'],
    ['type', 'eventType'],
    ['for', ({ about }) => about?.recipient ?? null],
    ['kind', 'kind'],
    ['status', (post) => webhookEvent(post).status, { paint: paintStatus }],
    ['http', 'status'],
    ['ms', 'ms'],
    ['tries', 'attempts'],
    ['cause', 'cause'],
  ],
})

/** `2h` ago, an ISO 8601 time, or a mark of the log. */
const sinceOf = ({ deps, store, account }: WebhookContext, text: string): ReplayWish['since'] => {
  const mark = new MarkCodec(deps.pepper).read(text, account.id)
  if (mark !== null && store.isMark(mark)) return { mark }
  const at = momentOf(text)
  if (at === null) throw usage(`--since: ${text} is neither 2h, nor an ISO 8601 time, nor a mark of the log`)
  return { at }
}

const momentOf = (text: string): number | null => {
  const span = readSpan(text)
  return Number.isNaN(span) ? parseTime(text) : Date.now() - span
}

export const replay = hookCommand({
  usage: 'replay <id> [event]',
  summary: 'Post one event again, or many; under the ids that they had',
  positionals: { ...ENDPOINT, event: { type: 'string', describe: 'Its id, evt_…; else many' } },
  options: {
    since: { type: 'string', describe: 'From 2h ago, from an ISO 8601 time, or from a mark of the log' },
    until: { type: 'string', describe: 'Up to then; else up to now' },
    failed: { type: 'boolean', describe: 'Only events that were given up' },
    'dry-run': { type: 'boolean', describe: 'Only count' },
  },
  examples: [['$0 webhook replay wh_01… --since 2h', 'all of the last two hours']],
  run: async (context, args, terminal) => {
    const { hooks } = context
    const row = await findEndpoint(hooks, scopeOf(context), args.id)
    if (args.event !== undefined) {
      const post = await replayEvent(hooks, row, args.event)
      return terminal.data(webhookEvent(post), () => `${post.eventId} will be posted again`)
    }
    if (args.since === undefined && !args.failed)
      throw usage('webhook replay needs an event, --since or --failed')
    const since = args.since === undefined ? null : sinceOf(context, args.since)
    const until = args.until === undefined ? Date.now() : momentOf(args.until)
    if (until === null) throw usage(`--until: ${args.until} is neither 2h nor an ISO 8601 time`)
    const failed = args.failed === true
    if (failed && since !== null && 'mark' in since) throw usage('--since: with --failed it must be a time')
    const replaying = replayMany(hooks, row, { since, until, failed }, args.dryRun === true)
    const done = await whileAt(terminal, 'replaying', replaying)
    const many = `${done.matched}${done.isCapped ? ' or more' : ''} events`
    terminal.data(webhookReplay(done), () =>
      args.dryRun ? `${many} would be posted again` : `${many} will be posted again`,
    )
  },
})

const SETTINGS = settingsOf(WEBHOOK)

const WISH = {
  auth: {
    type: 'string',
    describe:
      'With format postmark: file of user:password, sent as a login; - is standard input; an empty file takes it away',
  },
  header: {
    type: 'string',
    describe: 'File of `Name: value` lines to send with each post; - is standard input',
  },
  domain: { type: 'string', array: true, describe: 'Only of mail from these domains' },
  tag: { type: 'string', array: true, describe: 'Only of mail with one of these tags, name or name=value' },
  ...settingOptions(SETTINGS),
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

/** An option given empty takes back what was: `--domain ''`. */
const some = (list: readonly string[]): readonly string[] => list.filter((one) => one !== '')

const wishOf = async (args: OptionArgs<typeof WISH>, terminal: Terminal): Promise<WishedEndpoint> => ({
  auth:
    args.auth === undefined ? undefined : String(await terminal.readInput(args.auth)).replace(/\r?\n$/, ''),
  headers: args.header === undefined ? undefined : await readHeaders(args.header, terminal),
  domains: args.domain && some(args.domain),
  tags: args.tag && some(args.tag).map(readTag),
  ...settingArgs(SETTINGS, args),
})

const healthText = ({ status, disabledReason, state }: KnownEndpoint): string => {
  if (status === 'disabled') return `disabled (${disabledReason})`
  return state.health === 'failing' && state.failingSince !== null
    ? `failing, ${ago(state.failingSince)}`
    : state.health
}

const made = ({ row, secret }: Made, terminal: Terminal): void => {
  terminal.data({ ...webhookRecord(row), signing_secret: secret }, () => secret)
  terminal.say(`${row.id} signs with this secret; it is shown now, and never again`)
}

type ListedEndpoint = KnownEndpoint & { readonly behind: Behind | null }

const leftText = (row: Parameters<typeof eventsLeft>[0]): string => {
  const left = eventsLeft(row)
  return left === null ? 'more than the log has' : `${left.events}${left.capped ? ' or more' : ''}`
}

const list = listing({
  path: 'webhook list',
  summary: 'All endpoints, newest first; never their secrets',
  examples: [['$0 webhook list', '']],
  what: 'endpoints',
  next: 'postern webhook create https://app.example/hook',
  rows: (context) => (page) => endpointsBehind(context, scopeOf(context), page),
  record: (row: ListedEndpoint) => shownWebhook(row, row.behind),
  isManaged: true,
  columns: [
    ['id', 'id'],
    ['endpoint', 'url'],
    ['health', healthText],
    ['waiting', (row) => leftText(shownWebhook(row, row.behind))],
    ['events', ({ events }) => events.join(',')],
    ['workspace', ({ workspaceId }) => workspaceId ?? 'all'],
    ['mode', 'mode'],
    ['format', 'format'],
  ],
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

const sayIgnored = (events: readonly string[], format: WebhookFormat, terminal: Terminal): void => {
  const names = ignoredOf(events, format)
  if (names.length === 0) return
  const why = format === 'standard' ? 'there is no such event here' : `format ${format} has no word for it`
  if (events.includes('*'))
    terminal.say(`it is told of ${typesIn(format)?.join(', ')}; format ${format} has no word for the others`)
  else terminal.say(`nothing is told of ${names.join(', ')}: ${why}`)
}

const create = hookCommand({
  usage: 'create <url>',
  summary: 'Post events to a URL from now on; prints the signing secret',
  positionals: { url: { type: 'string', demandOption: true, describe: 'An https URL' } },
  options: {
    ...TYPES,
    workspace: { type: 'string', describe: 'Only of this workspace, by id or slug; else of all of them' },
    mode: { choices: ['live', 'test'], default: 'live', describe: 'Of live or of test mail' },
    format: {
      choices: WEBHOOK_FORMATS,
      default: 'standard',
      describe: 'In whose words, for receivers that were written for that service',
    },
    ...WISH,
  },
  examples: [
    ['$0 webhook create https://app.example/hook --events email.delivered,email.bounced', 'two types'],
    [
      '$0 webhook create https://list.example/webhooks/service/sendgrid --format sendgrid',
      'as SendGrid posts',
    ],
  ],
  run: async (context, args, terminal) => {
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
    const format = args.format as WebhookFormat
    if (wish.auth === '') throw badInput(`--auth: ${args.auth} is empty`)
    const done = await createEndpoint(hooks, owner, { ...wish, url: args.url, events, format })
    made(done, terminal)
    if (done.row.publicKey !== null) terminal.say(`its posts are verified by this key: ${done.row.publicKey}`)
    sayIgnored(events, format, terminal)
    if (args.mode === 'live') terminal.say('it is told of live mail; one for mail of test keys: --mode test')
  },
})

const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const shownFields = (row: KnownEndpoint, left: string): readonly (readonly [string, unknown])[] => [
  ['id', row.id],
  ['endpoint', row.url],
  ['format', row.format],
  ['public key', row.publicKey],
  ['health', healthText(row)],
  ['failures in a row', row.state.failures],
  ['last success', time(row.state.lastSucceededAt)],
  ['waiting', left],
  ['of these posts', row.waiting],
  ['events', row.events.join(',')],
  ['workspace', row.workspaceId ?? 'all'],
  ['mode', row.mode],
  ['domains', row.domains.join(' ') || 'all'],
  [
    'tags',
    row.tags.map(({ name, value }) => (value === null ? name : `${name}=${value}`)).join(' ') || 'all',
  ],
  ['login', row.auth === null ? 'none' : 'kept'],
  ['own headers', row.headerNames.join(' ') || 'none'],
  ...settingFields(SETTINGS, webhookRecord(row)),
  ['old secret until', row.previousSecret === null ? null : time(row.previousUntil)],
  ['created', time(row.createdAt)],
]

/** One endpoint, and what of the log it has not come to. */
const showOne = async (context: WebhookContext, row: KnownEndpoint, terminal: Terminal) => {
  const shown = shownWebhook(row, await behindOf(context.hooks, row))
  await tellRecord(context, terminal, shown, (paint) => fields(paint, shownFields(row, leftText(shown))))
}

const show = hookCommand({
  usage: 'show <id>',
  summary: 'One endpoint: how it does, and what waits',
  positionals: ENDPOINT,
  examples: [['$0 webhook show wh_01…', '']],
  run: async (context, args, terminal) =>
    showOne(context, await findEndpoint(context.hooks, scopeOf(context), args.id), terminal),
})

const update = hookCommand({
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
  examples: [['$0 webhook update wh_01… --enable', 'go on from where it stood']],
  run: async (context, args, terminal) => {
    if (args.enable && args.disable) throw usage('either --enable or --disable')
    if (args.fromNow && !args.enable) throw usage('--from-now goes with --enable only')
    const row = await updateEndpoint(context.hooks, scopeOf(context), args.id, {
      ...(await wishOf(args, terminal)),
      url: args.url,
      events: args.events && namesIn(args.events),
      status: args.enable ? 'enabled' : args.disable ? 'disabled' : undefined,
      from: args.fromNow ? 'now' : undefined,
    })
    await showOne(context, row, terminal)
  },
})

const remove = hookCommand({
  usage: 'delete <id>',
  summary: 'Remove an endpoint, and all that is known of its posts',
  positionals: ENDPOINT,
  destroys: true,
  examples: [['$0 webhook delete wh_01… --yes', '']],
  run: async (context, args, terminal) => {
    const row = await findEndpoint(context.hooks, scopeOf(context), args.id)
    const asked = `delete the endpoint ${row.url} and its ${row.waiting} waiting posts`
    const what = `delete ${row.id} ${row.url}`
    if (!(await agreed(context, terminal, args, webhookRecord(row), what, asked))) return
    await deleteEndpoint(context.hooks, scopeOf(context), row.id)
    terminal.data(removed('webhook', row.id), () => `deleted ${row.id}`)
  },
})

const rotate = hookCommand({
  usage: 'rotate <id>',
  summary: 'Make a new signing secret; the one so far signs as well for a while',
  positionals: ENDPOINT,
  options: { grace: { type: 'string', default: '24h', describe: 'How long: 0 to 7d' } },
  examples: [['$0 webhook rotate wh_01… --grace 48h', '']],
  run: async (context, args, terminal) => {
    const ms = parseDuration(args.grace)
    if (ms === null || ms > MOST_GRACE_MS) throw usage(`--grace: ${args.grace} is no time from 0 to 7d`)
    made(await rotateSecret(context.hooks, scopeOf(context), args.id, ms), terminal)
  },
})

const secret = command({
  usage: 'secret',
  summary: 'Print a signing secret that is not stored: a file of it goes to postern apply',
  examples: [['(umask 077; $0 webhook secret > hook.secret)', 'then in a setup: secret_file: hook.secret']],
  run: async (_args, terminal) => {
    const text = newSigningSecret()
    terminal.data({ object: 'signing_secret', signing_secret: text }, () => text)
  },
})

export const webhookSubject: Subject = {
  name: 'webhook',
  commands: [list, create, secret, show, update, remove, rotate, test, events, replay, listen],
}
