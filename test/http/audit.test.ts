/** Every endpoint that changes something is called as a person, and leaves one entry in the audit: of that person, with the reason given. */
import t, { type Test } from 'tap'
import type { HttpDeps } from '../../src/http/deps.js'
import type { Endpoint } from '../../src/http/endpoint.js'
import { endpoints } from '../../src/http/http.js'
import type { AuditRow } from '../../src/store/port/identity.js'
import { txtLookup } from '../../src/tenant/domain/check.js'
import { DnsServer } from '../parts/dns-server.js'
import { answer, receiver } from '../parts/receiver.js'
import { callsOf, signIn, type Wish } from './calls.js'
import { openKit } from './kit.js'

const dns = await new DnsServer().start()
t.teardown(() => dns.stop())
const lookup = txtLookup(`127.0.0.1:${dns.port}`)
const kit = await openKit({ lookup, allowNetworks: ['127.0.0.0/8'] })
t.teardown(() => kit.stop())

const changing = endpoints({} as HttpDeps, () => 'https://mail.test').filter(({ method }) => method !== 'GET')

/** What leaves no entry. */
const OWNS_NOTHING: Readonly<Record<string, string>> = {
  sendEmail: 'a mail is its own record',
  sendBatch: 'mails are their own records',
  resendEmail: 'the new mail is its own record, and names the first',
  testEgressPool: 'a trial changes nothing',
  planSetup: 'a plan changes nothing',
  updateDomain: 'it changes nothing',
  beginFactor: 'nothing is kept before it is proved',
  updateSession: 'what people keep for themselves is nobody’s business',
}

const { user: owner, token: key } = await signIn(kit, 'owner@acme.test', 'owner')
const hook = await receiver(t, { behave: answer(200) })
const { ask, calls: CALLS } = callsOf(kit, { key, hookPort: hook.port })

const filter = { action: null, actorId: null, objectId: null, workspaceId: null, since: null, until: null }
const page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 } as const
/** What was written down since; newest first. */
const entriesAfter = async (last: string | undefined): Promise<readonly AuditRow[]> => {
  const { rows } = await kit.store.audit(kit.accountId, filter, page)
  const at = rows.findIndex(({ id }) => id === last)
  return at < 0 ? rows : rows.slice(0, at)
}

t.test('each endpoint is known to the audit, or has a reason', (t) => {
  const ids = changing.map(({ id }) => id).sort()
  t.same(ids, [...Object.keys(CALLS), ...Object.keys(OWNS_NOTHING)].sort())
  t.end()
})

const leaves = async (t: Test, { id, method }: Endpoint, call: () => Wish | Promise<Wish>): Promise<void> => {
  const [path, body] = await call()
  const [last] = await entriesAfter(undefined)
  const { status } = await ask(method, path, body)
  t.ok(status < 300, `${id}: ${status}`)
  const entries = await entriesAfter(last?.id)
  t.match(
    entries,
    [{ actor: { kind: 'person', id: owner.id, name: owner.email, address: '127.0.0.1' } }],
    `${id} by whom`,
  )
  t.equal(entries.length, 1, `${id}: ${entries.map(({ action }) => action).join(', ')}`)
  if (body !== undefined && 'reason' in body) t.equal(entries[0]?.detail.reason, body.reason, `${id}: why`)
}

t.test('each change has one entry, of whoever asked', async (t) => {
  for (const one of changing) {
    const call = CALLS[one.id]
    if (call !== undefined) await leaves(t, one, call)
  }
})
