/** Everything that a setup can say: applied, exported, applied to an empty store and exported again, on both engines. */
import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { KIND_NAMES, SECTIONS } from '../../src/setup/fields.js'
import { authority } from '../parts/certificates.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { type Desk, openDesk } from './desk.js'

type Fields = Record<string, unknown>
type Sections = Record<string, Record<string, Fields>>

const FINGERPRINT = 'ab'.repeat(32)

/** With a value for every field of every kind, none of them the one that a new thing has. */
const ALL: Sections = {
  pools: {
    eu: {
      upstreams: [
        'smtp://gw@mta1.eu.example:2587?tls=verify&ca_file=ca.pem&auth_mechanism=PLAIN&weight=7&priority=3&max_connections=4&messages_per_connection=50&rate=2.5&password_file=mta.pw',
        `smtps://[2001:db8::1]:2465?tls=implicit&fingerprint=${FINGERPRINT}`,
        'smtp://me@mta3.example:587?tls=required&client_secret_file=client&refresh_token_file=refresh&token_url=https://tokens.example/t&client_id=me%26co&scope=a%20b',
      ],
      ...{ return_path: 'fixed', notify_success: false, relayed_means: 'sent' },
    },
    us: { upstreams: ['smtp://mta.us.example:25?tls=opportunistic&warmup=50:14'] },
  },
  workspaces: {
    shop: {
      ...{ name: 'The: "shop" – ä', default_from: 'Shop <no-reply@shop.example>', ambiguous: 'hold' },
      ...{ line_endings: 'strict', sender_dsn: true, restrict_senders: true, on_alarm: 'hold', pool: 'eu' },
      routes: { '.example.org': 'us', 'example.com': 'us' },
      alarms: { complaints: '0.1%/5', hard_bounces: 'off', deferrals: '20%/50' },
      ...{ statistics_tags: ['kind', 'plan'], suppress_soft: { mailbox_full: '8/30d' } },
    },
  },
  domains: { 'shop.example': { workspace: 'shop', dkim: [{ selector: 's1', key_file: 's1.pem' }] } },
  keys: {
    'shop/web': {
      ...{ mode: 'test', permission: 'sending_access', rate_limit_per_minute: 77 },
      ...{ expires_at: '2099-01-31T00:00:00.000Z', secret_file: 'web.key', ses_out: 'data/ses.env' },
    },
    ops: { secret_file: 'ops.key' },
  },
  credentials: {
    'shop/scanner': { username: 'scanner-3', mode: 'test', secret_file: 'scanner.pw' },
    'shop/printer': { cidr: '10.1.0.0/16', mode: 'live' },
    'shop/robot': { certificate_fingerprint: FINGERPRINT, mode: 'live' },
  },
  webhooks: {
    'shop/orders': {
      ...{ endpoint: 'https://203.0.113.9/hook', events: ['email.bounced', 'email.sent'], fields: 'thin' },
      ...{ domains: ['shop.example'], tags: ['kind:a', 'plan'], max_in_flight: 3, replay_rate: 17 },
      ...{ header_files: { Authorization: 'auth' }, mode: 'test', secret_file: 'hook.key' },
    },
    'shop/list': {
      ...{ endpoint: 'https://203.0.113.9/list', format: 'postmark', auth_file: 'login' },
      secret_file: 'list.key',
    },
  },
  suppressions: { shop: { file: 'live.csv', test_file: 'test.csv' }, '*': { file: 'all.csv' } },
  people: { 'ana@example.com': { role: 'member', name: 'Ana' } },
}

const LIST = (address: string): string =>
  `email,reason,origin,created_at,expires_at,source_id\r\n${address},"said ""no"", twice",complaint,2024-02-03T04:05:06.000Z,2099-01-01T00:00:00.000Z,import:x\r\n`

/** One address for all mail, and one for that of a mailing list. */
const TWO = LIST('a@b.example')
  .replace('source_id', 'source_id,list')
  .replace('import:x', 'import:x,')
  .concat('z@b.example,,unsubscribe,2024-02-03T04:05:06.000Z,,,news\r\n')

const PEM = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()

const CA = readFileSync((await authority(t)).caFile, 'utf8')

/** Files that the setup names, the same beside each store. */
const desk0 = openDesk(t)
const SECRETS: Readonly<Record<string, string>> = {
  ...{ 'mta.pw': 'hunter22\n', client: 'client secret\n', refresh: 'refresh token\n', auth: 'Bearer x1\n' },
  login: 'list:hunter22\n',
  ...{ 'scanner.pw': 'scannerpassword\n', 's1.pem': PEM, 'ca.pem': CA },
  'web.key': (await desk0.run(['key', 'secret', '--mode', 'test'])).stdout,
  'ops.key': (await desk0.run(['key', 'secret'])).stdout,
  'list.key': (await desk0.run(['webhook', 'secret'])).stdout,
  'hook.key': (await desk0.run(['webhook', 'secret'])).stdout,
  ...{ 'live.csv': TWO, 'test.csv': LIST('c@d.example'), 'all.csv': LIST('=e@f.example') },
}

const UPSTREAM_FILES = {
  password_file: 'mta.pw',
  client_secret_file: 'client',
  refresh_token_file: 'refresh',
}

/** The same file, in which the files of secrets are named again. */
const filled = (exported: Sections): Sections =>
  Object.fromEntries(
    Object.entries(exported).map(([section, things]) => {
      if (section === 'setup') return [section, things]
      const named = Object.entries(things).map(([name, fields]) => {
        const own = Object.entries(fields).map(([field, value]) => {
          const text = JSON.stringify(value)
          if (!text.includes('FILL-IN')) return [field, value]
          if (field !== 'upstreams') return [field, ALL[section]?.[name]?.[field]]
          const words = Object.entries(UPSTREAM_FILES)
          const urls = words.reduce(
            (all, [word, file]) => all.replaceAll(`${word}=FILL-IN`, `${word}=${file}`),
            text,
          )
          return [field, JSON.parse(urls)]
        })
        return [name, Object.fromEntries(own)]
      })
      return [section, Object.fromEntries(named)]
    }),
  )

const opened = (t: Test, url: string | null): Desk => {
  const store = url === null ? '{ driver: sqlite }' : '{ driver: postgres, url_file: database.url }'
  const desk = openDesk(t, `hostname: gw.postern.test\ndata_dir: data\nstore: ${store}\n`)
  desk.file('database.url', `${url}\n`)
  for (const [name, text] of Object.entries(SECRETS)) desk.file(name, text)
  return desk
}

/** The folder as an export wrote it, by the names of its files. */
const exported = async (desk: Desk, name: string): Promise<Readonly<Record<string, string>>> => {
  const folder = join(desk.dir, name)
  const { code, stderr } = await desk.run(['export', '--setup', folder, '--name', 'all'])
  if (code !== 0) throw new Error(stderr)
  return Object.fromEntries(
    readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  )
}

const NOTHING = { code: 0, stderr: 'nothing to do\n' }

t.test('each field of each kind has a value in this test', async (t) => {
  for (const kind of KIND_NAMES) {
    const { section, fields } = SECTIONS[kind]
    const said = Object.values(ALL[section] ?? {}).flatMap((one) => Object.keys(one))
    t.same(
      Object.keys(fields).filter((field) => field !== 'out' && !said.includes(field)),
      [],
      section,
    )
  }
})

const round = async (t: Test, urls: readonly [string | null, string | null]): Promise<void> => {
  const desk = opened(t, urls[0])
  const file = desk.file('all.yaml', stringify({ setup: 'all', ...ALL }))
  const done = await desk.run(['apply', '--yes', file])
  t.equal(done.code, 0, done.stderr)
  t.match(await desk.run(['apply', file]), NOTHING)
  const first = await exported(desk, 'first')
  const text = first['postern.yaml'] ?? ''
  const said = parse(text) as Sections
  const known = { ...ALL, pools: { ...ALL.pools, eu: { ...ALL.pools?.eu, upstreams: null } } } as Sections
  for (const kind of KIND_NAMES) {
    const { section, fields } = SECTIONS[kind]
    for (const [name, wanted] of Object.entries(known[section] ?? {})) {
      const got = said[section]?.[name] ?? {}
      t.same(
        Object.keys(got).filter((field) => !(field in fields)),
        [],
        `${section} ${name}: no member of a record is taken for a field`,
      )
      for (const [field, value] of Object.entries(wanted)) {
        const isFile = fields[field]?.isSecret === true || ['upstreams', 'file', 'test_file'].includes(field)
        if (isFile) t.ok(got[field], `${section} ${name} ${field}`)
        else t.same(got[field], value, `${section} ${name} ${field}`)
      }
    }
  }
  for (const word of Object.keys(UPSTREAM_FILES)) t.match(text, `${word}=FILL-IN`)
  for (const secret of ['hunter22', 'client secret', 'refresh token', 'Bearer', 'scannerpassword', 'PRIVATE'])
    t.notMatch(Object.values(first).join(), secret)
  t.match(first['suppressed-shop.csv'], '"said ""no"", twice",complaint,2024-02-03T04:05:06.000Z,2099-')
  t.equal(first['suppressed-shop.csv'], TWO)

  const next = opened(t, urls[1])
  for (const [name, list] of Object.entries(first)) if (name.endsWith('.csv')) next.file(name, list)
  const again = next.file('again.yaml', stringify(filled(said)))
  const applied = await next.run(['apply', '--yes', again])
  t.equal(applied.code, 0, applied.stderr)
  t.notMatch(applied.stdout, /^!/m)
  t.match(await next.run(['apply', again]), NOTHING)
  t.same(await exported(next, 'second'), first)
}

t.test('SQLite', (t) => round(t, [null, null]))

t.test('PostgreSQL, and from one engine to the other', { skip: noPostgres() ?? false }, async (t) => {
  const cluster = await postgres()
  await round(t, [cluster.database(), cluster.database()])
  await round(t, [null, cluster.database()])
})
