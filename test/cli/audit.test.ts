/** Every command that changes something leaves one entry in the audit, of the user who gave it. */
import { join } from 'node:path'
import t from 'tap'
import { CATALOG } from '../../src/cli/catalog.js'
import { isSubject, verbOf } from '../../src/cli/command.js'
import { loadWhole } from '../../src/cli/parse.js'
import type { AuditRow } from '../../src/store/port/identity.js'
import type { Store } from '../../src/store/port/store.js'
import { openIncident } from '../parts/incident.js'
import { isOnPostgres } from '../parts/store.js'
import { factorOf } from '../store/contract-identity.js'
import { accepted, HOUR, page } from '../store/fixture.js'
import { openDesk } from './desk.js'
import { withStore } from './waiting.js'

const desk = openDesk(t)
const GOOD = 'violet river under glass\n'

let n = 0
const unique = (word: string): string => `${word}${++n}`
/** The id of something new. */
const made = async (...words: string[]): Promise<string> => String((await desk.json(words, GOOD)).id)

const workspace = () => made('workspace', 'create', unique('shop'))
const pool = () => made('pool', 'create', unique('pool'), '--upstream', 'smtp://mta.acme.test:25?tls=none')
const domain = () => made('domain', 'add', `${unique('d')}.example`)
const person = () => made('user', 'create', `${unique('p')}@acme.test`)
/** With a second factor. */
const protectedPerson = async (): Promise<string> => {
  const userId = await person()
  await withStore(desk, (store, { accountId }) =>
    store.addFactor(factorOf({ id: userId, accountId }), [], null),
  )
  return userId
}
const webhook = () => made('webhook', 'create', 'https://app.acme.test/hook', '--events', '*')
const scheduled = () =>
  withStore(desk, async (store, at) => {
    const now = Date.now()
    return (await accepted(store, at, { createdAt: now, scheduledAt: now + HOUR })).id
  })
const waiting = () =>
  withStore(desk, async (store, at) => (await accepted(store, at, { createdAt: Date.now() })).id)
const upstream = async (): Promise<string> =>
  String((await desk.json(['pool', 'show', await pool()])).members[0].id)
const lot = async (): Promise<string> => {
  await waiting()
  return String((await desk.json(['queue', 'export', file(), '--all', '--yes'])).lot)
}
const incident = () =>
  withStore(desk, (store, { accountId, workspace }) =>
    openIncident(store, { accountId, workspaceId: workspace.id }, Date.now()),
  )
const file = (): string => join(desk.dir, unique('file'))
const BULK = ['email', 'bulk', 'cancel', '--q', 'to:nobody@x.test', '--reason', 'why', '--yes']
const WHY = ['--all', '--reason', 'why']

/** What follows the verb; a second list is what comes on standard input. */
type Words = readonly string[]

const CALLS: Readonly<Record<string, () => Promise<Words>>> = {
  'workspace create': async () => [unique('shop')],
  'workspace update': async () => [await workspace(), '--name', 'Another'],
  'workspace suspend': async () => [await workspace(), '--reason', 'why', '--yes'],
  'workspace resume': async () => {
    const id = await workspace()
    await desk.json(['workspace', 'suspend', id, '--reason', 'why', '--yes'])
    return [id, '--yes']
  },
  'workspace delete': async () => [await workspace(), '--reason', 'why', '--yes'],
  'key create': async () => ['--workspace', 'default'],
  'key rotate': async () => [await made('key', 'create', '--workspace', 'default')],
  'key revoke': async () => [await made('key', 'create', '--workspace', 'default'), '--yes'],
  'credential create': async () => ['--workspace', 'default', '--username', unique('u')],
  'credential import': async () => [
    '--workspace',
    'default',
    desk.file(unique('c'), `${unique('u')},secret words\n${unique('u')},secret words\n`),
  ],
  'credential revoke': async () => [
    await made('credential', 'create', '--workspace', 'default', '--username', unique('u')),
    '--yes',
  ],
  'pool create': async () => [unique('pool'), '--upstream', 'smtp://mta.acme.test:25?tls=none'],
  'pool update': async () => [await pool(), '--name', unique('pool')],
  'pool delete': async () => [await pool(), '--yes'],
  'upstream add': async () => [await pool(), 'smtp://mx.acme.test:25?tls=none'],
  'upstream pause': async () => [await upstream()],
  'upstream drain': async () => [await upstream()],
  'upstream resume': async () => {
    const id = await upstream()
    await desk.json(['upstream', 'pause', id])
    return [id]
  },
  'domain add': async () => [`${unique('d')}.example`],
  'domain check': async () => [await domain(), '--resolver', '127.0.0.1:9'],
  'domain rotate': async () => [await domain()],
  'domain remove': async () => [await domain(), '--yes'],
  'job cancel': async () => [String((await desk.json(BULK)).id), '--yes'],
  'email bulk': async () => BULK.slice(2),
  'email reschedule': async () => [await scheduled(), '--at', 'in 2 hours'],
  'email cancel': async () => [await scheduled(), '--yes'],
  'queue hold': async () => WHY,
  'queue release': async () => WHY,
  'queue retry': async () => WHY,
  'queue reroute': async () => [...WHY, '--to', await pool(), '--yes'],
  'queue purge': async () => [...WHY, '--yes'],
  'queue export': async () => {
    await waiting()
    return [file(), '--all', '--yes']
  },
  'queue take-back': async () => [await lot(), '--yes'],
  'queue forget': async () => [await lot(), '--yes'],
  'suppression add': async () => [`${unique('a')}@x.test`],
  'suppression remove': async () => {
    const address = `${unique('a')}@x.test`
    await desk.json(['suppression', 'add', address])
    return [address, '--yes']
  },
  // in this order: what is suppressed dies no second time
  'suppression dismiss': async () => [await incident()],
  'suppression accept': async () => [await incident()],
  apply: async () => {
    const name = unique('setup')
    return [desk.file(`${name}.yaml`, `setup: ${name}\nworkspaces:\n  ${name}: {}\n`), '--yes']
  },
  import: async () => [desk.file(unique('s'), 'd@y.test\ne@y.test\nf@y.test\n')],
  'suppression import': async () => [desk.file(unique('s'), 'a@y.test\nb@y.test\nc@y.test\n')],
  'webhook create': async () => ['https://app.acme.test/hook', '--events', '*'],
  'webhook update': async () => [await webhook(), '--disable'],
  'webhook delete': async () => [await webhook(), '--yes'],
  'webhook rotate': async () => [await webhook()],
  'webhook replay': async () => [await webhook(), '--since', '1h'],
  'user create': async () => [`${unique('p')}@acme.test`],
  'user update': async () => [await person(), '--role', 'owner'],
  'user password': async () => [await person()],
  'user reset-factors': async () => [await protectedPerson(), '--yes'],
  'user invite': async () => ['--out', file()],
  'user uninvite': async () => [await made('user', 'invite', '--out', file())],
  'session create': async () => [],
  'session revoke': async () => [await made('session', 'create'), '--yes'],
  'setup-link': async () => ['--out', file()],
  'pepper accept': async () => ['--yes'],
  'store rewound': async () => ['--yes'],
  restore: async () => {
    const copy = file()
    await desk.json(['backup', copy])
    return [copy, '--yes']
  },
}

/** What a database on a server does not have, or not while another store is open there, as it is here. */
const ALONE: Readonly<Record<string, string>> = {
  'store rewound': 'nobody else may write meanwhile',
  restore: 'copies are made by the tools of the database',
}

/** What leaves no entry, and why. */
const OWNS_NOTHING: Readonly<Record<string, string>> = {
  ...{
    dev: 'it runs',
    serve: 'it runs',
    sendmail: 'a mail is its own record',
    send: 'a mail is its own record',
  },
  ...{ 'email resend': 'the new mail is its own record', 'bounce ingest': 'the events of the mail tell it' },
  ...{ 'bounce rotate-key': 'the keys are a file beside the database', init: 'it writes a file' },
  ...{ 'clock confirm': 'it changes nothing of anybody', migrate: 'it keeps what everybody has' },
  'store move': 'the same rows in another database',
  ...{
    'key secret': 'it prints what is stored nowhere',
    'webhook secret': 'it prints what is stored nowhere',
  },
  ...{ backup: 'a copy changes nothing', 'upstream test': 'a trial changes nothing' },
  ...{
    'webhook test': 'posts, as the API, whose test has the entry',
    'webhook listen': 'it runs',
    mcp: 'it asks the API',
  },
  ...{ 'queue import': 'another installation’s mail: see below', 'config check': 'reads' },
}
const READS =
  /(^| )(list|show|top|ages|throttles|holds|lots|incidents|events|source|tail|export|test|read|classify|invitations|print|reference|reports|check|doctor|stats|completion|version|man|status|healthcheck)$/

t.test('each command is known to the audit, reads, or has a reason', async (t) => {
  for (const entry of CATALOG) {
    const loaded = await loadWhole(entry)
    const names = isSubject(loaded)
      ? loaded.commands.map((one) => `${loaded.name} ${verbOf(one)}`)
      : [entry.name]
    for (const name of names) t.ok(name in CALLS || name in OWNS_NOTHING || READS.test(name), name)
  }
})

const ALL = { action: null, actorId: null, objectId: null, workspaceId: null, since: null, until: null }
const entries = async (store: Store, accountId: string): Promise<readonly AuditRow[]> =>
  (await store.audit(accountId, ALL, page({ limit: 20 }))).rows

t.test('each change has one entry, of whoever gave it', async (t) => {
  await desk.json(['workspace', 'list'])
  const actor = { kind: 'cli', id: `cli:${process.getuid?.() ?? 0}` }
  await withStore(desk, async (store, { accountId }) => {
    for (const [name, words] of Object.entries(CALLS)) {
      if (isOnPostgres && name in ALONE) {
        t.pass(name, { skip: ALONE[name] ?? false })
        continue
      }
      const args = [...name.split(' '), ...(await words()), '--json']
      const before = (await entries(store, accountId))[0]?.id
      const { code, stderr } = await desk.run(args, GOOD)
      t.ok(code === 0 || name === 'domain check', `${name}: ${code} ${stderr}`)
      const after = await (name === 'restore'
        ? withStore(desk, (restored) => entries(restored, accountId))
        : entries(store, accountId))
      const end = after.findIndex(({ id }) => id === before)
      const made = end < 0 ? after : after.slice(0, end)
      t.match(made, [{ actor }], `${name} by whom`)
      t.equal(made.length, 1, `${name}: ${made.map(({ action }) => action).join(', ')}`)
    }
  })
})
