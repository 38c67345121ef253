import t from 'tap'
import { unseal } from '../../../src/base/secret.js'
import { loadDkimKey } from '../../../src/mail/dkim.js'
import { dnsRecords } from '../../../src/resource/domain.js'
import { checkDomain, txtLookup } from '../../../src/tenant/domain/check.js'
import {
  addDomain,
  createSenderAllowed,
  DKIM_SEAL,
  type DomainDeps,
  findDomain,
  lineage,
  RETIRED_KEPT_MS,
  removeDomain,
  rotateKeys,
} from '../../../src/tenant/domain/domain.js'
import { DnsServer } from '../../parts/dns-server.js'
import { codeOf, openHouse } from '../house.js'

const house = await openHouse(t)
const deps: DomainDeps = { ...house.tenants.deps, store: house.store }
const { account, clock, store } = house
const dns = await new DnsServer().start()
t.teardown(() => dns.stop())
const lookup = txtLookup(`127.0.0.1:${dns.port}`)
const publish = (name: string, value: string) => dns.txt.set(name, value)
const states = (row: { keys: readonly { state: string }[] }) => row.keys.map(({ state }) => state)

t.test('added with a key of each kind, sealed', async (t) => {
  const row = await addDomain(deps, account.id, { name: 'Shop.Example.' })
  t.equal(row.name, 'shop.example')
  t.match(row.keys, [
    { algorithm: 'rsa', state: 'active', record: /^v=DKIM1; k=rsa; p=/ },
    { algorithm: 'ed25519', state: 'active', record: /^v=DKIM1; k=ed25519; p=/ },
  ])
  t.notOk(JSON.stringify(row).includes('PRIVATE'))
  const pem = unseal(house.pepper, DKIM_SEAL, row.keys[0]?.sealed ?? '')
  t.equal(loadDkimKey(pem).asymmetricKeyDetails?.modulusLength, 2048)
  t.equal(await codeOf(addDomain(deps, account.id, { name: 'shop.example' })), 'validation.request_invalid')
  t.equal(await codeOf(addDomain(deps, account.id, { name: 'no domain' })), 'validation.request_invalid')
  t.equal((await addDomain(deps, account.id, { name: 'bücher.example' })).name, 'xn--bcher-kva.example')
})

t.test('verified when every active key is published', async (t) => {
  const row = await findDomain(deps, account.id, 'shop.example')
  const [rsa, ed25519] = dnsRecords(row)
  if (rsa === undefined || ed25519 === undefined) throw new Error('no records')
  t.match(await checkDomain(deps, row, lookup), {
    row: { verifiedAt: null },
    records: [{ seen: 'missing' }, { seen: 'missing' }, { purpose: 'dmarc', seen: 'missing' }],
  })
  publish(rsa.name, rsa.value)
  publish(ed25519.name, 'v=DKIM1; k=ed25519; p=AAAA')
  t.match(await checkDomain(deps, row, lookup), {
    row: { verifiedAt: null },
    records: [{ seen: 'ok' }, { seen: 'different', found: /AAAA/ }],
  })
  publish(ed25519.name, ed25519.value.replaceAll('; ', ';'))
  const { row: verified } = await checkDomain(deps, row, lookup)
  t.equal(verified.verifiedAt, clock.now())
  dns.failing = true
  t.match(await checkDomain(deps, verified, lookup), {
    row: { verifiedAt: verified.verifiedAt },
    records: [{ seen: 'unknown' }],
  })
  dns.failing = false
})

t.test('rotation overlaps', async (t) => {
  const rotated = await rotateKeys(deps, account.id, 'shop.example', false)
  t.same(states(rotated), ['active', 'active', 'next', 'next'])
  t.equal(new Set(rotated.keys.map(({ selector }) => selector)).size, 4)
  t.same(states((await checkDomain(deps, rotated, lookup)).row), ['active', 'active', 'next', 'next'])
  for (const { name, value } of dnsRecords(rotated)) publish(name, value)
  const { row } = await checkDomain(deps, rotated, lookup)
  t.same(states(row), ['retired', 'retired', 'active', 'active'])
  t.ok(row.verifiedAt)
  clock.pass(RETIRED_KEPT_MS)
  t.same(states(await rotateKeys(deps, account.id, 'shop.example', true)), [
    'retired',
    'retired',
    'active',
    'active',
  ])
})

t.test('rotated while DNS is asked: nothing is lost', async (t) => {
  const row = await addDomain(deps, account.id, { name: 'race.example' })
  let rotated = row
  const slow: typeof lookup = async (name) => {
    if (rotated === row) rotated = await rotateKeys(deps, account.id, row.id, false)
    return lookup(name)
  }
  const { row: after, records } = await checkDomain(deps, row, slow)
  t.same(after.keys, rotated.keys)
  t.same(states(await findDomain(deps, account.id, row.id)), ['active', 'active', 'next', 'next'])
  t.same(
    records.map(({ seen }) => seen),
    ['missing', 'missing', 'unknown', 'unknown', 'missing'],
  )
  const both = await Promise.all([1, 2].map(() => rotateKeys(deps, account.id, row.id, true)))
  const stored = await findDomain(deps, account.id, row.id)
  t.ok(both.some(({ keys }) => JSON.stringify(keys) === JSON.stringify(stored.keys)))
  t.equal(stored.keys.filter(({ state }) => state === 'retired').length, 4, 'one after the other')
  const gone: typeof lookup = async (name) => {
    await removeDomain(deps, account.id, row.id).catch(() => {})
    return lookup(name)
  }
  t.equal(await codeOf(checkDomain(deps, row, gone)), 'domain.not_found')
})

t.test('who may send', async (t) => {
  const allowed = createSenderAllowed(store)
  const mine = await house.tenants.createWorkspace(account.id, { name: 'Mine' })
  const other = await house.tenants.createWorkspace(account.id, { name: 'Other' })
  const row = await addDomain(deps, account.id, { name: 'mine.example', workspace: 'mine' })
  t.notOk(await allowed(mine, 'a@mine.example'), 'not verified yet')
  for (const { name, value } of dnsRecords(row)) publish(name, value)
  await checkDomain(deps, row, lookup)
  t.ok(await allowed(mine, 'a@mine.example'))
  t.ok(await allowed(mine, 'a@news.mine.example'))
  t.notOk(await allowed(mine, 'a@notmine.example'))
  t.notOk(await allowed(other, 'a@mine.example'))
  t.same(lineage('a.b.c'), ['a.b.c', 'b.c'])
  await removeDomain(deps, account.id, 'mine.example')
  t.equal(await codeOf(findDomain(deps, account.id, 'mine.example')), 'domain.not_found')
  t.notOk(await allowed(mine, 'a@mine.example'))
})
