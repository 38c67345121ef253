/**
 * An installation with mail in all states, made through its doors and one upstream, and at rest: what waits does so
 * behind a pause, a hold, an appointment or a long wait, so two who look at different times see the same.
 */

import { createTransport } from 'nodemailer'
import type { Test } from 'tap'
import { UpstreamServer } from '../relay/upstream-server.js'
import { eventually } from './eventually.js'
import { Postern } from './postern.js'
import { answer, type Receiver, receiver } from './receiver.js'

export const SETTINGS = {
  base_url: 'http://mail.gw.test',
  relay: { retry: ['7d'], lifetime: '30d' },
  rate_limit: { per_minute: 1_000_000 },
  webhook: { allow_networks: ['127.0.0.0/8'] },
}

/** A kind of mail, of each thirty. */
type Kind =
  | 'sent'
  | 'gone'
  | 'later'
  | 'waiting'
  | 'asleep'
  | 'appointed'
  | 'delivered'
  | 'bounced'
  | 'deferred'

const OF_THIRTY: Readonly<Record<Kind, number>> = {
  ...{ sent: 8, gone: 2, later: 3, waiting: 7, asleep: 1 },
  ...{ appointed: 3, delivered: 4, bounced: 1, deferred: 1 },
}
const KINDS = Object.entries(OF_THIRTY).flatMap(([kind, n]) => Array<Kind>(n).fill(kind as Kind))
const BATCH = 50
/** It is kept as a file. */
const LARGE = 91_000
const DAY_MS = 86_400_000

/** A copy's Message-ID says whose it is. */
const idIn = (wire: string): string => /^message-id:\s*<(em_[0-9a-z]{26})@/im.exec(wire)?.[1] ?? ''

export class AllStates {
  readonly upstream = new UpstreamServer()
  readonly ids: Record<Kind | 'held' | 'canceled' | 'smtp', string[]> = {
    ...{ sent: [], gone: [], later: [], waiting: [], asleep: [], appointed: [] },
    ...{ delivered: [], bounced: [], deferred: [], held: [], canceled: [], smtp: [] },
  }
  session = ''
  readonly #holds: string[] = []
  #live = ''
  #test = ''
  #waiting = ''
  #asleep = ''
  /** Mail that was posted with a key, and what came back. */
  readonly once = {
    key: 'order-17',
    body: { from: 'app@gw.test', to: 'ana@sink.test', text: 'once' },
    id: '',
  }

  private constructor(
    readonly postern: Postern,
    /** One that takes all, and one that asks for a day. */
    readonly taking: Receiver,
    readonly refusing: Receiver,
  ) {}

  static async make(t: Test, count: number): Promise<AllStates> {
    const refusing = await receiver(t, { behave: answer(503, '', { 'retry-after': '80000' }) })
    const made = new AllStates(new Postern(SETTINGS), await receiver(t), refusing)
    t.teardown(async () => {
      await made.postern.remove()
      await made.upstream.close()
    })
    made.isLater(true)
    await made.postern.start()
    await made.#furnish()
    await made.#fill(count)
    await made.#settle()
    await made.#holdEarly()
    return made
  }

  /** Whether those who said "later" still do. */
  isLater(is: boolean): void {
    this.upstream.script.act = (stage, line) => {
      if (stage === 'rcpt' && line.includes('<gone')) return '550 5.1.1 nobody here'
      return is && stage === 'rcpt' && line.includes('<later') ? '451 4.2.0 later' : undefined
    }
  }

  get liveKey(): string {
    return this.#live
  }

  /** How often each mail came to the upstream. */
  copies(): ReadonlyMap<string, number> {
    const found = new Map<string, number>()
    for (const { wire } of this.upstream.received) found.set(idIn(wire), (found.get(idIn(wire)) ?? 0) + 1)
    return found
  }

  // biome-ignore lint/suspicious/noExplicitAny: the record is whatever the product says
  async #made(path: string, body: unknown): Promise<any> {
    const headers = { 'x-workspace-id': 'default' }
    const answered = await this.postern.api('POST', path, this.session, body, headers)
    if (answered.status >= 300) throw new Error(`POST ${path}: ${answered.status} ${answered.text}`)
    return answered.body
  }

  async #furnish(): Promise<void> {
    const { postern } = this
    this.session = (await postern.json('session', 'create')).token
    const members = [{ host: '127.0.0.1', port: await this.upstream.listen(), tls: 'none' }]
    const main = await this.#made('/v1/egress-pools', { name: 'main', members })
    await postern.api('PATCH', '/v1/workspaces/default', this.session, { egress_pool_id: main.id })
    const resting = await this.#made('/v1/egress-pools', { name: 'resting', members })
    await postern.json('upstream', 'pause', resting.members[0].id, '--reason', 'it moves')
    for (const name of ['waiting', 'asleep'])
      await this.#made('/v1/workspaces', { name, egress_pool_id: resting.id })
    const hook = (mode: string, { port }: Receiver, events: readonly string[]) =>
      this.#made('/v1/webhooks', { endpoint: `http://127.0.0.1:${port}/hook`, mode, events })
    await hook('live', this.taking, ['email.queued', 'email.sent', 'email.bounced'])
    await hook('test', this.taking, ['email.delivered'])
    await hook('test', this.refusing, ['email.complained'])
    const key = async (workspace: string, mode = 'live') =>
      (await this.#made('/v1/api-keys', { name: workspace, workspace_id: workspace, mode })).secret as string
    this.#live = await key('default')
    this.#test = await key('default', 'test')
    this.#waiting = await key('waiting')
    this.#asleep = await key('asleep')
    const gone = await this.#made('/v1/api-keys', { name: 'gone', workspace_id: 'default' })
    await postern.api('DELETE', `/v1/api-keys/${gone.id}`, this.session)
    await this.#made('/v1/credentials', { workspace_id: 'default', cidr: '10.1.0.0/16' })
    await this.#made('/v1/suppressions', { email: 'never@sink.test', reason: 'asked' })
    await this.#made('/v1/domains', { name: 'gw.test' })
    await this.#made('/v1/users', { email: 'ana@gw.test', name: 'Ana', role: 'member' })
    await postern.relayHasRead()
  }

  /** Places in the middle of lists, and what follows there. */
  async marks(): Promise<readonly { readonly path: string; readonly text: string }[]> {
    const { postern, session } = this
    const found: { path: string; text: string }[] = []
    for (const list of ['/v1/emails?mode=live', '/v1/events?mode=live']) {
      const { body } = await postern.api('GET', `${list}&limit=7`, session)
      const path = `${list}&cursor=${body.pagination.next_cursor}`
      found.push({ path, text: (await postern.api('GET', path, session)).text })
    }
    return found
  }

  /** Nothing rests any more. */
  async letGo(postern: Postern): Promise<void> {
    const [member] = (await postern.json('pool', 'show', 'resting')).members
    await postern.json('upstream', 'resume', member.id)
    await postern.json('workspace', 'resume', 'asleep', '--yes')
    for (const id of this.#holds)
      await postern.json('queue', 'release', '--email', id, '--reason', 'go', '--yes')
    await postern.json('queue', 'retry', '--pool', 'main')
  }

  #keyOf(kind: Kind): string {
    if (kind === 'waiting') return this.#waiting
    if (kind === 'asleep') return this.#asleep
    return kind === 'delivered' || kind === 'bounced' || kind === 'deferred' ? this.#test : this.#live
  }

  async #post(path: string, key: string, body: unknown, headers = {}) {
    const answered = await this.postern.api('POST', path, key, body, headers)
    if (answered.status !== 202) throw new Error(`POST ${path}: ${answered.status} ${answered.text}`)
    return answered.body
  }

  async #send(kind: Kind, from: number, count: number): Promise<void> {
    const isTest = this.#keyOf(kind) === this.#test
    const mails = Array.from({ length: count }, (_, i) => ({
      from: 'App <app@gw.test>',
      to: isTest ? `${kind}@example.com` : [`${kind}${from + i}@${kind}.test`],
      subject: `hello ${kind} ${from + i}`,
      text: (from + i) % 40 === 0 ? 'x'.repeat(LARGE) : `Grüße ${from + i}`,
      tags: [{ name: 'kind', value: i % 3 === 0 ? 'receipt' : 'notice' }],
      ...(kind === 'appointed' && { scheduled_at: new Date(Date.now() + DAY_MS + from + i).toISOString() }),
    }))
    const { data } = await this.#post('/v1/emails/batch', this.#keyOf(kind), mails)
    this.ids[kind].push(...data.map(({ id }: { id: string }) => id))
  }

  /** Mixed, as they come. */
  async #fill(count: number): Promise<void> {
    const wanted = (kind: Kind, n: number) => Math.ceil((n * OF_THIRTY[kind]) / KINDS.length)
    for (let n = Math.min(count, 300); ; n = Math.min(count, n + 1_000)) {
      for (const kind of Object.keys(OF_THIRTY) as Kind[])
        for (let from = this.ids[kind].length; from < wanted(kind, n); from = this.ids[kind].length)
          await this.#send(kind, from, Math.min(BATCH, wanted(kind, n) - from))
      if (n >= count) break
    }
    const { key, body } = this.once
    this.once.id = (await this.#post('/v1/emails', this.#live, body, { 'idempotency-key': key })).id
    this.ids.sent.push(this.once.id)
    const complained = { from: 'app@gw.test', to: 'complained@example.com', text: 'x' }
    await this.#post('/v1/emails', this.#test, complained)
    const never = { ...complained, to: ['never@sink.test', 'sent@sink.test'] }
    this.ids.sent.push((await this.#post('/v1/emails', this.#live, never)).id)
    await this.#submit()
    await this.#operate()
  }

  /** By the other door. */
  async #submit(): Promise<void> {
    const client = createTransport({
      ...{ host: '127.0.0.1', port: this.postern.ports.submission[0] ?? 0, requireTLS: true },
      ...{ tls: { rejectUnauthorized: false }, auth: { user: 'apikey', pass: this.#live } },
    })
    // without a Message-ID it gets ours
    const raw = 'From: app@gw.test\r\nTo: all@sink.test\r\nSubject: hello by SMTP\r\n\r\nx\r\n'
    for (let i = 0; i < 3; i++) {
      const envelope = { from: 'app@gw.test', to: [`sent${i}@sink.test`, `later${i}@later.test`] }
      const { response } = await client.sendMail({ envelope, raw })
      this.ids.smtp.push(/em_\w+/.exec(response)?.[0] ?? '')
    }
    client.close()
  }

  async #operate(): Promise<void> {
    const { postern, ids } = this
    for (const id of ids.waiting.splice(0, 2)) {
      await this.#hold(id)
      ids.held.push(id)
    }
    for (const id of ids.appointed.splice(0, 2)) {
      await postern.api('POST', `/v1/emails/${id}/cancel`, this.#live)
      ids.canceled.push(id)
    }
    await postern.json('workspace', 'suspend', 'asleep', '--reason', 'invoice 17', '--yes')
  }

  async #total(key: string, status: string): Promise<number> {
    const { body } = await this.postern.api('GET', `/v1/emails?status=${status}&limit=1`, key)
    return body.pagination.total
  }

  /** All that moves has come to rest, and is counted, indexed and posted. */
  async #settle(): Promise<void> {
    const moving = async () => [
      await this.#total(this.#test, 'queued'),
      await this.#total(this.#test, 'sent'),
      await this.#total(this.#live, 'queued'),
      ...(await this.#behind()),
      this.refusing.received.length === 0 ? 1 : 0,
    ]
    let seen: readonly number[] = []
    const isStill = async () => {
      seen = await moving()
      return seen.every((n) => n === 0)
    }
    await eventually('all is at rest', isStill, { every: 200, moves: () => String(seen), seen: () => seen })
  }

  /** The wait for the next try is a random part of the longest: what would be tried within hours is held. */
  async #holdEarly(): Promise<void> {
    const held = new Set<string>()
    for (let path: string | null = '/v1/queue/entries?limit=100'; path !== null; ) {
      const { body } = await this.postern.api('GET', path, this.session)
      for (const { email_id: id, status, due_at: due } of body.data)
        if (status === 'deferred' && due !== null && Date.parse(due) < Date.now() + 3 * 3_600_000)
          held.add(id)
      const next = body.pagination.next_cursor
      path = next === null ? null : `/v1/queue/entries?cursor=${next}`
    }
    for (const id of held) await this.#hold(id)
  }

  async #hold(id: string): Promise<void> {
    await this.postern.json('queue', 'hold', '--email', id, '--reason', 'asked us to', '--yes')
    this.#holds.push(id)
  }

  /** Seconds and posts. */
  async #behind(): Promise<readonly number[]> {
    const text = await (await fetch(`http://127.0.0.1:${this.postern.ports.management}/metrics`)).text()
    const lags = [...text.matchAll(/^postern_(?:statistics|search)_lag_seconds (\S+)/gm)].map(([, n]) =>
      Number(n),
    )
    const { body } = await this.postern.api('GET', '/v1/webhooks', this.session)
    const first = body.data.filter(({ endpoint }: { endpoint: string }) =>
      endpoint.includes(`:${this.taking.port}/`),
    )
    return [...lags, ...first.map(({ waiting }: { waiting?: number }) => waiting ?? 0)]
  }
}
