/**
 * NAME      webhook-listen - what would be posted, here and now
 *   For writing a receiver behind a firewall: it follows the stream of the API with a key, prints what an endpoint for these
 *   events would be posted, in the words of any service, and with --forward posts it there, signed. Its secret is made of the
 *   key, so that it is the same each time and is stored nowhere.
 *   When the stream is cut off, it goes on after the last event that was handled, and says so. What another try can not mend
 *   ends it: a key that is not good, a wrong filter.
 */

import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../base/clock.js'
import { createDialler } from '../base/dial.js'
import { Fault } from '../base/fault.js'
import { keyedHash } from '../base/secret.js'
import { type EventType, nearestEventType, readEventType } from '../mail/event-type.js'
import { type EventRecord, MarkCodec } from '../record/event.js'
import { WEBHOOK_FORMATS, type WebhookFormat } from '../store/port/hooks.js'
import type { LogRow, MailOfEvent } from '../store/port/log.js'
import { bodyOf } from '../webhook/body.js'
import { LOGIN } from '../webhook/endpoints.js'
import { FORMATS, typesIn } from '../webhook/formats.js'
import { createPost, type Post, type PostTarget } from '../webhook/post.js'
import { type ApiCall, apiBase, callApi, isHttpUrl, openCall, readAnswer } from './api.js'
import { command } from './command.js'
import { configOf } from './context.js'
import { badInput, Refusal, usage } from './exit.js'
import { readKey } from './send.js'
import { STDIN, type Terminal } from './terminal.js'

interface Told {
  readonly id: string
  readonly type: string
  readonly data: string
}

interface Listening {
  readonly base: string
  readonly call: Omit<ApiCall, 'method' | 'body'>
  readonly signal: AbortSignal
  readonly tell: (told: Told) => Promise<void>
  readonly say: (text: string) => void
}

const FIRST_WAIT_MS = 2_000
const MOST_LINE = 1024 ** 2

/** Blocks as they come (HTML standard, section 9.2.6). */
async function* blocksOf(answer: IncomingMessage): AsyncGenerator<Readonly<Record<string, string>>> {
  let rest = ''
  let fields: Record<string, string> = {}
  answer.setEncoding('utf8')
  for await (const text of answer) {
    const lines = (rest + text).split(/\r?\n/)
    rest = lines.pop() ?? ''
    if (rest.length > MOST_LINE) throw new Refusal(69, 'the server does not speak server-sent events')
    for (const line of lines) {
      if (line === '') {
        yield fields
        fields = {}
        continue
      }
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (name !== '') fields[name] = fields[name] === undefined ? value : `${fields[name]}\n${value}`
    }
  }
}

const isFinal = (error: unknown): boolean => error instanceof Fault && !error.row.retryable

/** Runs until the signal; rejects with what another try can not mend. */
const listenTo = async ({ base, call, signal, tell, say }: Listening): Promise<void> => {
  const place = { mark: null as string | null, waitMs: FIRST_WAIT_MS }
  const hear = async (): Promise<void> => {
    const last: Record<string, string> = place.mark === null ? {} : { 'last-event-id': place.mark }
    const headers = { ...call.headers, ...last }
    const answer = await openCall(new URL(`${base}${call.path}`), { ...call, headers, method: 'GET' }, null)
    const stop = (): void => void answer.destroy()
    signal.addEventListener('abort', stop, { once: true })
    try {
      if (answer.statusCode !== 200) await readAnswer(base, answer)
      say(place.mark === null ? 'listening; ^C ends' : 'connected again; going on where it was')
      for await (const { id, event, data, retry } of blocksOf(answer)) {
        if (retry !== undefined) place.waitMs = Number(retry) || FIRST_WAIT_MS
        if (data !== undefined) await tell({ id: id ?? '', type: event ?? '', data })
        place.mark = id ?? place.mark
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
  while (!signal.aborted) {
    const why = await hear().then(
      () => 'the server has ended the stream',
      (error: Error) => {
        if (isFinal(error)) throw error
        return error.message
      },
    )
    if (signal.aborted) return
    say(`cut off: ${why}; trying again in ${Math.ceil(place.waitMs / 1000)} s`)
    await sleep(place.waitMs, undefined, { signal }).catch(() => {})
  }
}

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

const readType = (name: string): EventType => {
  const type = readEventType(name)
  if (type !== null) return type
  throw badInput(`--events: ${name} is no type of event; did you mean ${nearestEventType(name)}?`)
}

/** Those that the format has a word for; null: all there are. */
const typesFor = (
  names: readonly string[] | undefined,
  format: WebhookFormat,
): readonly EventType[] | null => {
  const possible = typesIn(format)
  if (names === undefined) return possible
  const asked = names.map(readType)
  const told = possible === null ? asked : asked.filter((type) => possible.includes(type))
  if (told.length === 0)
    throw usage(
      `--events: ${FORMATS[format]?.service} has no word for any of them; it has for ${possible?.join(', ')}`,
    )
  return told
}

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
  readonly format: WebhookFormat
  /** Null: it is printed only. */
  readonly target: PostTarget | null
  readonly post: Post
}

const showPost = async (
  { terminal, base, key, events, format, target, post }: Showing,
  told: Told,
): Promise<void> => {
  if (told.type === 'log.gap') {
    terminal.say('too long away: some events are no longer told; going on from the oldest')
    return
  }
  const record = JSON.parse(told.data) as EventRecord
  const sent = await findMail({ base, key }, record.email_id)
  const body = bodyOf(rowOf(record, told.id, sent), {
    ...{ fields: 'full', format, events: events as never },
  })
  const { paint } = terminal
  if (terminal.json || target === null)
    terminal.write(terminal.json ? body : `${paint.bold(record.type)} ${body}`)
  if (target === null) return
  const { ok, status, ms, cause } = await post(target, { id: record.id, body })
  const line = `${record.type}  ${record.id}  ${ok ? status : cause}  ${ms} ms`
  if (terminal.json) terminal.say(line)
  else terminal.write(ok ? paint.green(line) : paint.red(line))
}

/** What receivers of Postmark's posts ask for. */
const readLogin = async (
  { auth, format }: { readonly auth: string | undefined; readonly format: WebhookFormat },
  terminal: Terminal,
): Promise<string | null> => {
  if (auth === undefined) return null
  if (FORMATS[format]?.hasLogin !== true) throw usage('--auth goes with --format postmark only')
  const login = String(await terminal.readInput(auth)).replace(/\r?\n$/, '')
  if (!LOGIN.test(login)) throw badInput(`--auth: ${auth} does not hold user:password`)
  return login
}

/** What a receiver must know to believe the posts. */
const saySecret = (secret: string, format: WebhookFormat, terminal: Terminal): void => {
  terminal.say(`signed with ${secret}`)
  const publicKey = FORMATS[format]?.publicKey?.(secret)
  if (publicKey !== undefined) terminal.say(`verified by this key: ${publicKey}`)
}

export const listen = command({
  usage: 'listen',
  summary: 'Print what would be posted, or post it to a URL of your own, until interrupted',
  options: {
    events: { type: 'string', array: true, describe: 'Only these types, such as email.bounced; else all' },
    forward: { type: 'string', describe: 'Post it to this URL, such as http://127.0.0.1:3000/hook' },
    format: {
      choices: WEBHOOK_FORMATS,
      default: 'standard',
      describe: 'In whose words, for receivers that were written for that service',
    },
    auth: {
      type: 'string',
      describe: 'With format postmark: file of user:password, sent as a login; - is standard input',
    },
    live: { type: 'boolean', describe: 'Of live mail; else of test mail' },
    workspace: { type: 'string', describe: 'Workspace id, for a platform key' },
    'key-file': { type: 'string', describe: 'File that holds the API key; - is standard input' },
    url: { type: 'string', describe: 'Where the API is; else as configured' },
  },
  examples: [
    ['$0 webhook listen --key-file key --forward http://127.0.0.1:3000/hook', ''],
    ['$0 webhook listen --key-file key --format sendgrid', 'as SendGrid posts'],
  ],
  run: async (args, terminal) => {
    const base = apiBase(configOf(args), args.url)
    if (args.forward !== undefined && !isHttpUrl(args.forward))
      throw usage(`--forward: ${args.forward} is no URL such as http://127.0.0.1:3000/hook`)
    if (args.keyFile === STDIN && args.auth === STDIN)
      throw usage('only one of --key-file and --auth can be standard input')
    const format = args.format as WebhookFormat
    const types = typesFor(args.events, format)
    const key = await readKey(terminal.readInput, args.keyFile)
    const auth = await readLogin({ auth: args.auth, format }, terminal)
    const asked = (types ?? []).map((type) => `&type=${type}`).join('')
    const query = `change=true${modeFor(key, args.live === true)}${asked}`
    const headers: Record<string, string> =
      args.workspace === undefined ? {} : { 'x-workspace-id': args.workspace }
    const secrets = [secretOf(key)] as const
    const target =
      args.forward === undefined ? null : { url: args.forward, format, auth, headers: {}, secrets }
    // the URL is of whoever runs this, on the machine where this runs
    const dialler = createDialler({ allow: ['0.0.0.0/0', '::/0'], ownPorts: () => [] })
    const post = createPost(dialler, systemClock)
    const showing = { terminal, base, key, events: args.events ?? [], format, target, post }
    const ended = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort())
    if (target !== null) saySecret(secrets[0], format, terminal)
    const call = { path: `/v1/events/stream?${query}`, key, headers }
    const say = (text: string): void => terminal.say(text)
    try {
      await listenTo({ base, call, signal: ended.signal, say, tell: (told) => showPost(showing, told) })
    } finally {
      await dialler.close()
    }
  },
})
