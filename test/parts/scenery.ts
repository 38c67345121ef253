/**
 * An installation with something of everything, as the pages of the dashboard meet it: mails of each outcome, mail
 * that waits and mail that is held, pools with an upstream that is down, a webhook that fails, keys, a domain.
 */
import { eventually } from './eventually.js'
import { Postern } from './postern.js'

export interface Scenery {
  readonly postern: Postern
  /** Of an owner. */
  readonly session: string
  readonly testKey: string
  readonly liveKey: string
  /** Ids of mails by what became of them. */
  readonly mails: Readonly<Record<string, string>>
}

const LONG = `Ihre-Bestellung-${'x'.repeat(180)}`

const SENT: readonly (readonly [name: string, mail: Record<string, unknown>])[] = [
  [
    'delivered',
    { to: 'delivered@example.com', subject: 'Your receipt 42', tags: [{ name: 'kind', value: 'receipt' }] },
  ],
  ['bounced', { to: 'bounced@example.com', subject: 'Your parcel leaves today' }],
  ['full', { to: 'bounced+5.2.2@example.com', subject: 'Rechnung für März' }],
  ['deferred', { to: 'deferred@example.com', subject: 'طلبك رقم ١٢٣ قيد الشحن' }],
  ['complained', { to: 'complained@example.com', subject: '<b>bold</b> & "quoted"' }],
  [
    'long',
    {
      to: [`${'a'.repeat(60)}@${'long-label.'.repeat(12)}example.com`, 'delivered@example.com'],
      subject: LONG,
    },
  ],
]

const fill = async (postern: Postern, session: string): Promise<void> => {
  const make = async (path: string, body: unknown, headers = {}) => {
    const { status, text } = await postern.api('POST', path, session, body, headers)
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`)
  }
  const members = [
    { host: '127.0.0.1', port: 9, tls: 'none' },
    { host: 'mta2.example.invalid', port: 587 },
  ]
  await make('/v1/egress-pools', { name: 'shop-eu', members })
  await make('/v1/workspaces', { name: 'Customer identity and access notifications EMEA' })
  const hook = `https://hooks.example.invalid/${'a-long-path/'.repeat(8)}`
  await postern.json('webhook', 'create', hook, '--mode', 'test')
  await make('/v1/users', { email: 'ana@shop.example', name: 'Ana', role: 'member' })
  await make('/v1/domains', { name: 'shop.example' })
  await postern.json('suppression', 'add', 'gone@example.com', '--reason', 'asked')
  await postern.json('credential', 'create', '--workspace', 'default', '--cidr', '10.1.0.0/16')
  await postern.json('workspace', 'update', 'default', '--pool', 'shop-eu')
}

const furnish = async (postern: Postern): Promise<Scenery> => {
  const session = (await postern.json('session', 'create')).token as string
  await fill(postern, session)
  const [testKey, liveKey] = [await postern.key('--mode', 'test'), await postern.key()]
  const mails: Record<string, string> = {}
  const send = async (name: string, key: string, mail: Record<string, unknown>) => {
    const body = {
      from: 'Shop EU <app@shop.example>',
      html: '<p>Thank you.</p>',
      text: 'Thank you.',
      ...mail,
    }
    const { status, text, body: made } = await postern.api('POST', '/v1/emails', key, body)
    if (status !== 202) throw new Error(`${name}: ${status} ${text}`)
    mails[name] = made.id
  }
  for (const [name, mail] of SENT) await send(name, testKey, mail)
  await send('waiting', liveKey, { to: 'ana@example.org', subject: 'Waits for an upstream' })
  await send('held', liveKey, { to: 'bo@example.net', subject: 'Held' })
  await postern.json('queue', 'hold', '--email', mails.held ?? '', '--reason', 'asked us to stop', '--yes')
  const became = async (name: string, status: string): Promise<void> => {
    await eventually(`${name} is ${status}`, async () => {
      const { body } = await postern.api('GET', `/v1/emails/${mails[name]}`, testKey)
      return body.status === status
    })
  }
  await became('delivered', 'delivered')
  await became('bounced', 'bounced')
  await became('full', 'bounced')
  await became('deferred', 'deferred')
  const hooks = await postern.api('GET', '/v1/webhooks', session)
  await eventually('the webhook fails', async () => {
    const { body } = await postern.api('GET', `/v1/webhooks/${hooks.body.data[0].id}/events`, session)
    return body.data.some(({ cause }: { readonly cause: string | null }) => cause !== null)
  })
  const bulk = { action: 'resend', q: 'status:bounced', reason: 'the mailboxes are back' }
  const job = await postern.api('POST', '/v1/emails/bulk?mode=test', session, bulk)
  if (job.status !== 202) throw new Error(`a job: ${job.status} ${job.text}`)
  return { postern, session, testKey, liveKey, mails }
}

export const makeScenery = async (): Promise<Scenery> => {
  const postern = await new Postern().start()
  try {
    return await furnish(postern)
  } catch (error) {
    await postern.remove()
    throw error
  }
}
