/** The daemon looks domains up again by itself: soon after they are made, then daily; and believes bad news at the second look. */
import t from 'tap'
import { dnsRecords } from '../../../src/resource/domain.js'
import type { LogRow } from '../../../src/store/port/log.js'
import { createDomainRecheck, nextCheckAt, txtLookup } from '../../../src/tenant/domain/check.js'
import { addDomain, type DomainDeps, findDomain, rotateKeys } from '../../../src/tenant/domain/domain.js'
import { DnsServer } from '../../parts/dns-server.js'
import { eventually } from '../../parts/eventually.js'
import { openHouse } from '../house.js'

const MINUTE = 60_000
const DAY = 86_400_000

const house = await openHouse(t)
const { account, clock, store } = house
const deps: DomainDeps = { ...house.tenants.deps, store }
const dns = await new DnsServer().start()
t.teardown(() => dns.stop())

const lines: string[] = []
const note = (_: unknown, line?: string) => void lines.push(line ?? '')
const begin = async () => {
  const lookup = txtLookup(`127.0.0.1:${dns.port}`)
  const service = createDomainRecheck(deps, {
    lookup,
    every: DAY,
    log: { info: note, warn: note, error: note },
    round: 20,
  })
  await service.start()
  return service
}

const events = async (): Promise<readonly LogRow[]> => {
  const filter = {
    accountId: account.id,
    workspaceId: null,
    accountWide: true,
    mode: null,
    types: ['domain.verified', 'domain.failed'] as const,
    emailId: null,
    recipient: null,
    change: null,
    createdAfter: null,
    createdBefore: null,
  }
  const { rows } = await store.log(filter, { limit: 50, direction: 'older', anchor: null, countUpTo: 0 })
  return [...rows].reverse()
}
const types = async () => (await events()).map(({ type }) => type)
const domain = () => findDomain(deps, account.id, 'shop.example')
const checked = (after: number) =>
  eventually('it is checked', async () => ((await domain()).checkedAt ?? 0) >= after)
const publish = async () => {
  for (const { name, value } of dnsRecords(await domain())) dns.txt.set(name, value)
}

t.test('when', async (t) => {
  const row = await addDomain(deps, account.id, { name: 'when.example' })
  const at = row.createdAt
  t.equal(nextCheckAt(row, DAY) - at, MINUTE)
  t.equal(nextCheckAt({ ...row, checkedAt: at + MINUTE }, DAY) - at, 2 * MINUTE)
  t.equal(nextCheckAt({ ...row, checkedAt: at + 40 * MINUTE }, DAY) - at, 50 * MINUTE)
  t.equal(nextCheckAt({ ...row, checkedAt: at + 40 * DAY }, DAY) - at, 41 * DAY)
  t.equal(nextCheckAt({ ...row, checkedAt: at + MINUTE, verifiedAt: at }, DAY) - at, MINUTE + DAY)
  const rotated = { ...row, verifiedAt: at, checkedAt: at + MINUTE }
  const keys = rotated.keys.map((key) => ({ ...key, state: 'next' as const }))
  t.equal(nextCheckAt({ ...rotated, keys }, DAY) - at, 2 * MINUTE)
  let checks = 0
  for (let next = at; next < at + 7 * DAY; next = nextCheckAt({ ...row, checkedAt: next }, DAY)) checks++
  t.ok(checks < 50, `${checks} looks in a week at a domain that nobody publishes`)
  await store.removeDomain(account.id, row.id)
})

t.test('verified soon after it is published, and told once', async (t) => {
  const service = await begin()
  await addDomain(deps, account.id, { name: 'shop.example' })
  clock.pass(MINUTE)
  await checked(clock.now())
  t.same(await types(), [], 'what was never there has not failed')
  await publish()
  clock.pass(MINUTE)
  await eventually('it is verified', async () => (await domain()).verifiedAt !== null)
  const { id } = await domain()
  t.match(await events(), [
    {
      type: 'domain.verified',
      workspaceId: null,
      change: true,
      data: { domain_id: id, name: 'shop.example' },
    },
  ])
  await service.stop()
})

t.test('gone is believed at the second look; a silent name server proves nothing', async (t) => {
  const service = await begin()
  dns.failing = true
  clock.pass(DAY)
  await checked(clock.now())
  t.ok((await domain()).verifiedAt)
  dns.failing = false
  dns.txt.clear()
  clock.pass(DAY)
  let minutes = 0
  await eventually('it failed', async () => {
    if ((await domain()).verifiedAt === null) return true
    t.same(await types(), ['domain.verified'])
    clock.pass(MINUTE)
    minutes++
    return false
  })
  t.ok(minutes >= 15, `not at once, but ${minutes} minutes later`)
  const [, failed] = await events()
  t.match(failed, {
    type: 'domain.failed',
    data: { reason: 'dns', records: [{ seen: 'missing' }, { seen: 'missing' }] },
  })
  t.match(lines, ['domain verified', 'domain no longer verified'])
  await publish()
  clock.pass(DAY)
  await eventually('it is back', async () => (await domain()).verifiedAt !== null)
  t.same(await types(), ['domain.verified', 'domain.failed', 'domain.verified'])
  await service.stop()
})

t.test('keys that are put to use at once end the proof, and that is told', async (t) => {
  await rotateKeys(deps, account.id, 'shop.example', true)
  t.match((await events()).at(-1), { type: 'domain.failed', data: { reason: 'keys_rotated' } })
})

t.test('stopped and started again; twice is fine', async (t) => {
  const service = await begin()
  await service.start()
  await service.stop()
  await service.stop()
  const before = await domain()
  clock.pass(DAY)
  t.same(await domain(), before)
})
