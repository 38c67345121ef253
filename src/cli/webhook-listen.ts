/**
 * NAME      webhook-listen - what would be posted, here and now
 * DESCRIPTION
 *   For writing a receiver behind a firewall. Follows the stream of the API with a
 *   key, prints what an endpoint for these events would be posted, and with
 *   --forward posts it there, signed. The secret is made of the key, so that it is the
 *   same each time and is stored nowhere.
 * NOTES
 *   Posts go out one after the other and once: what the receiver refuses is told
 *   here, and not tried again.
 */
import { systemClock } from '../base/clock.js'
import { createDialler } from '../base/dial/dial.js'
import { Fault } from '../base/fault.js'
import { keyedHash } from '../base/secret.js'
import { nearestEventType, readEventType } from '../mail/event-type.js'
import type { EventRecord } from '../record/event.js'
import { MarkCodec } from '../record/mark.js'
import type { LogRow, MailOfEvent } from '../store/port/log.js'
import { bodyOf } from '../webhook/body.js'
import { createPost, type Post } from '../webhook/post.js'
import { apiBase, callApi, isHttpUrl } from './api.js'
import { command } from './command.js'
import { configOf } from './context.js'
import { listenTo, type Told } from './event-stream.js'
import { badInput, usage } from './exit.js'
import { readKey } from './send.js'
import type { Terminal } from './terminal.js'

const secretOf = (key: string): string =>
  `whsec_${keyedHash(Buffer.from(key), 'webhook-listen-secret').toString('base64')}`

/** A key has a mode of its own; a session names it. */
const modeFor = (key: string, live: boolean): string => {
  const wanted = live ? 'live' : 'test'
  const own = /^svc_(live|test)_/.exec(key)?.[1]
  if (own === 'live' && !live)
    throw usage('this key is for live mail: use a test-mode key, or say --live to be posted live mail')
  if (own === 'test' && live) throw usage('--live: this key is for test mail')
  return own === undefined ? `&mode=${wanted}` : ''
}

const typesOf = (names: readonly string[] | undefined): string =>
  (names ?? [])
    .map((name) => {
      const type = readEventType(name)
      if (type === null)
        throw badInput(`--events: ${name} is no type of event; did you mean ${nearestEventType(name)}?`)
      return `&type=${type}`
    })
    .join('')

interface Sent {
  readonly to: readonly string[]
  readonly created_at: string
  readonly scheduled_at: string | null
}

/** What the record of an event leaves out of its mail; null when there is no mail, or no more. */
const findMail = async (
  { base, key }: Pick<Showing, 'base' | 'key'>,
  emailId: string | null,
): Promise<Sent | null> => {
  if (emailId === null) return null
  const asked = callApi(base, { method: 'GET', path: `/v1/emails/${emailId}`, key }) as Promise<Sent>
  return asked.catch((error: unknown) => {
    if (error instanceof Fault && error.code === 'email.not_found') return null
    throw error
  })
}

/** The record as the store had it, so that the body is made where all bodies are made. */
const rowOf = (record: EventRecord, mark: string, sent: Sent | null): LogRow => {
  const { mta } = record
  const about = record as EventRecord & Partial<Record<'from' | 'subject' | 'message_id', string>>
  const mail: MailOfEvent | null =
    sent === null
      ? null
      : {
          id: record.email_id ?? '',
          poolId: mta?.pool_id ?? '',
          from: about.from ?? '',
          to: sent.to,
          subject: about.subject ?? '',
          messageId: about.message_id ?? '',
          tags: 'tags' in record ? record.tags : [],
          createdAt: Date.parse(sent.created_at),
          scheduledAt: sent.scheduled_at === null ? null : Date.parse(sent.scheduled_at),
        }
  return {
    id: record.id,
    type: record.type as LogRow['type'],
    mark: MarkCodec.placeIn(mark),
    accountId: '',
    workspaceId: record.workspace_id,
    mode: record.mode,
    change: record.change,
    begunHere: true,
    emailId: record.email_id,
    recipientId: null,
    recipient: record.recipient,
    source: record.source,
    occurredAt: Date.parse(record.occurred_at),
    createdAt: Date.parse(record.created_at),
    reply: record.smtp,
    mta: mta && { poolId: mta.pool_id, upstreamId: mta.upstream_id ?? null, host: mta.host },
    attempt: record.attempt,
    applied: record.applied,
    reason: record.reason ?? null,
    detail: record.detail ?? null,
    mail,
    data: 'data' in record ? record.data : null,
  }
}

interface Showing {
  readonly terminal: Terminal
  readonly base: string
  readonly key: string
  readonly events: readonly string[]
  readonly forward: string | null
  readonly post: Post
}

const show = async ({ terminal, base, key, events, forward, post }: Showing, told: Told): Promise<void> => {
  if (told.type === 'log.gap') {
    terminal.say('too long away: some events are no longer told; going on from the oldest')
    return
  }
  const record = JSON.parse(told.data) as EventRecord
  const sent = await findMail({ base, key }, record.email_id)
  const body = bodyOf(rowOf(record, told.id, sent), { fields: 'full', events: events as never })
  const { paint } = terminal
  if (terminal.json || forward === null)
    terminal.write(terminal.json ? body : `${paint.bold(record.type)} ${body}`)
  if (forward === null) return
  const target = { url: forward, headers: {}, secrets: [secretOf(key)] }
  const { ok, status, ms, cause } = await post(target, { id: record.id, body })
  const line = `${record.type}  ${record.id}  ${ok ? status : cause}  ${ms} ms`
  if (terminal.json) terminal.say(line)
  else terminal.write(ok ? paint.green(line) : paint.red(line))
}

export const listen = command({
  usage: 'listen',
  summary: 'Print what would be posted, or post it to a URL of your own, until interrupted',
  options: {
    events: { type: 'string', array: true, describe: 'Only these types, such as email.bounced; else all' },
    forward: { type: 'string', describe: 'Post it to this URL, such as http://127.0.0.1:3000/hook' },
    live: { type: 'boolean', describe: 'Of live mail; else of test mail' },
    workspace: { type: 'string', describe: 'Workspace id, for a platform key' },
    'key-file': { type: 'string', describe: 'File that holds the API key; - is standard input' },
    url: { type: 'string', describe: 'Where the API is; else as configured' },
  },
  examples: [['$0 webhook listen --key-file key --forward http://127.0.0.1:3000/hook', '']],
  run: async (args, terminal) => {
    const base = apiBase(configOf(args), args.url)
    if (args.forward !== undefined && !isHttpUrl(args.forward))
      throw usage(`--forward: ${args.forward} is no URL such as http://127.0.0.1:3000/hook`)
    const key = await readKey(terminal.readInput, args.keyFile)
    const query = `change=true${modeFor(key, args.live === true)}${typesOf(args.events)}`
    const headers: Record<string, string> =
      args.workspace === undefined ? {} : { 'x-workspace-id': args.workspace }
    // the URL is of whoever runs this, on the machine where this runs
    const dialler = createDialler({ allow: ['0.0.0.0/0', '::/0'], ownPorts: () => [] })
    const post = createPost(dialler, systemClock)
    const showing = { terminal, base, key, events: args.events ?? [], forward: args.forward ?? null, post }
    const ended = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort())
    if (showing.forward !== null) terminal.say(`signed with ${secretOf(key)}`)
    const call = { path: `/v1/events/stream?${query}`, key, headers }
    const say = (text: string): void => terminal.say(text)
    try {
      await listenTo({ base, call, signal: ended.signal, say, tell: (told) => show(showing, told) })
    } finally {
      await dialler.close()
    }
  },
})
