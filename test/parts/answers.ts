/**
 * All that an installation says of what it keeps: each list of the API in pages, there and back again, each mail with its
 * timeline and its source, a search, statistics, and the command line. Left out are cursors, and what tells that it was asked.
 */
import type { Postern } from './postern.js'

export interface Asking {
  readonly session: string
  /** Workspaces whose own lists are asked for. */
  readonly workspaces: readonly string[]
  /** A day around all that happened. */
  readonly day: string
  /** So many mails are asked for one by one, spread over all of them. */
  readonly details: number
}

export type Answers = ReadonlyMap<string, unknown>

/** Of each place where a list was left, of whoever asked, and of looks at the DNS and at endpoints that fail. */
const OWN = new Set([
  ...['next_cursor', 'prev_cursor', 'last_used_at', 'last_seen_at', 'as_of', 'checked_at', 'health'],
])

/** What `upstream list` tells of the relay that runs, as it is at this moment. */
const OF_NOW = new Set([
  'breaker',
  'connections',
  'under_way',
  'limit',
  'full',
  'last_success_at',
  'last_error',
])

/** How long something has lasted by now, in the sentences that tell it. */
const LASTED = /\b\d+ (?:second|minute|hour)s?\b/g

/** Of the same recipients: mail that is young, or others left lately, flows; a while later it waits. */
const FLOWS =
  /(?:Other mail|Mail) flows: (\d+ recipients?) on (?:its|their) way\.|(\d+ recipients?)(?: more)? waits?[;,](?: the oldest)? for a while\./g
const AGED = /The oldest came a while ago\.|No pool is stopped: each is tried again .*? by Retry\./g
const said = (text: string): string =>
  text.replace(LASTED, 'a while').replace(FLOWS, '$1$2 flow or wait.').replace(AGED, 'As old as it is.')

const plain = (value: unknown, own: ReadonlySet<string> = OWN): unknown => {
  if (Array.isArray(value)) return value.map((one) => plain(one, own))
  if (typeof value === 'string') return said(value)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !own.has(name))
      .map(([name, field]) => [
        name,
        name === 'tone' && (field === 'ok' || field === 'wait') ? 'ok or wait' : plain(field, own),
      ]),
  )
}

const MODES = ['live', 'test'] as const

const listsOf = ({ workspaces }: Asking): readonly (readonly [path: string, workspace?: string])[] => [
  ...MODES.flatMap((mode) => [
    [`/v1/emails?mode=${mode}`] as const,
    [`/v1/events?mode=${mode}`] as const,
    ...['queued', 'scheduled', 'sent', 'deferred', 'delivered', 'bounced', 'canceled'].map(
      (status) => [`/v1/emails?mode=${mode}&status=${status}`] as const,
    ),
  ]),
  ...workspaces.flatMap((workspace) =>
    ['/v1/emails', '/v1/suppressions'].map((path) => [path, workspace] as const),
  ),
  ...['/v1/emails?tag=kind:receipt', '/v1/emails?q=subject:hello', '/v1/events?type=email.bounced'].map(
    (path) => [path] as const,
  ),
  ...['api-keys', 'holds', 'queue/entries', 'workspaces', 'egress-pools', 'jobs', 'webhooks', 'sessions'].map(
    (name) => [`/v1/${name}`] as const,
  ),
  ...['users', 'audit', 'incidents', 'domains', 'credentials', 'invitations'].map(
    (name) => [`/v1/${name}`] as const,
  ),
]

const singlesOf = ({ day, workspaces }: Asking): readonly (readonly [path: string, workspace?: string])[] => {
  const from = Date.parse(day)
  const span = `from=${new Date(from).toISOString()}&to=${new Date(from + 2 * 86_400_000).toISOString()}&interval=hour`
  const groups = ['none', 'recipient_domain', 'upstream', 'category']
  return [
    ...MODES.flatMap((mode) =>
      groups.map((by) => [`/v1/statistics?mode=${mode}&${span}&group_by=${by}`] as const),
    ),
    ...workspaces.map((workspace) => [`/v1/statistics?${span}`, workspace] as const),
    ['/v1/summary'],
    ['/v1/queue'],
  ]
}

const COMMANDS: readonly (readonly string[])[] = [
  ['email', 'list', '--limit', '50'],
  ['event', 'list', '--limit', '50'],
  ['queue', 'top'],
  ['queue', 'list', '--all'],
  ['suppression', 'list', '--mode', 'test'],
  ['workspace', 'list'],
  ['upstream', 'list'],
  ['audit', 'list'],
]

export class Asker {
  constructor(
    private readonly postern: Postern,
    private readonly asking: Asking,
  ) {}

  async #get(path: string, workspace?: string) {
    const { session } = this.asking
    const headers = workspace === undefined ? {} : { 'x-workspace-id': workspace }
    const answer = await this.postern.api('GET', path, session, undefined, headers)
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`)
    return answer
  }

  /** All rows; walked back to the first page they must be the same. */
  async list(
    path: string,
    workspace?: string,
  ): Promise<{ readonly total: unknown; readonly rows: unknown[] }> {
    const sep = path.includes('?') ? '&' : '?'
    const page = async (cursor: string | null) =>
      (await this.#get(`${path}${sep}${cursor === null ? 'limit=100' : `cursor=${cursor}`}`, workspace)).body
    const first = await page(null)
    let last = first
    const rows: unknown[] = [...first.data]
    while (last.pagination.has_next) {
      last = await page(last.pagination.next_cursor)
      rows.push(...last.data)
    }
    const back: unknown[] = [...last.data]
    while (last.pagination.has_prev) {
      last = await page(last.pagination.prev_cursor)
      back.unshift(...last.data)
    }
    if (JSON.stringify(plain(back)) !== JSON.stringify(plain(rows)))
      throw new Error(
        `${path}: ${rows.length} rows on the way there, others (${back.length}) on the way back`,
      )
    // who searches on a busy machine may not be told how many there are
    const { total, total_capped: capped } = first.pagination
    return { total: path.includes('q=') ? null : [total, capped], rows: plain(rows) as unknown[] }
  }

  async #mail(id: string): Promise<unknown> {
    const [mail, events] = [await this.#get(`/v1/emails/${id}`), await this.list(`/v1/emails/${id}/events`)]
    const source = await this.postern.api('GET', `/v1/emails/${id}/source`, this.asking.session)
    return {
      mail: plain(mail.body),
      events,
      source: [source.status, source.status === 200 ? source.text : null],
    }
  }

  /** The queue by age, whose words are of the moment, is not among them. */
  async all(): Promise<Answers> {
    const found = new Map<string, unknown>()
    for (const [path, workspace] of listsOf(this.asking))
      found.set(`${path} ${workspace ?? ''}`, await this.list(path, workspace))
    for (const [path, workspace] of singlesOf(this.asking))
      found.set(`${path} ${workspace ?? ''}`, plain((await this.#get(path, workspace)).body))
    const mails = MODES.flatMap(
      (mode) => (found.get(`/v1/emails?mode=${mode} `) as { rows: { id: string }[] }).rows,
    )
    const step = Math.max(1, Math.ceil(mails.length / this.asking.details))
    for (let i = 0; i < mails.length; i += step) {
      const { id } = mails[i] as { id: string }
      found.set(`mail ${id}`, await this.#mail(id))
    }
    for (const words of COMMANDS) {
      const own = words[0] === 'upstream' ? OF_NOW : OWN
      found.set(words.join(' '), plain(await this.postern.json(...words), own))
    }
    return found
  }
}

/** What two askings say differently: where, and the first difference of each. */
export const differences = (before: Answers, after: Answers): string[] => {
  const wrong: string[] = []
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [one, other] = [before, after].map(
      (all) => JSON.stringify(all.get(name), null, 1)?.split('\n') ?? [],
    )
    const at = one?.findIndex((line, i) => line !== other?.[i]) ?? -1
    if (at !== -1 || one?.length !== other?.length)
      wrong.push(`${name}: ${one?.slice(at, at + 3).join(' ')} is now ${other?.slice(at, at + 3).join(' ')}`)
  }
  return wrong
}
