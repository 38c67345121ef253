/** Where a name leads: asked for once in some minutes, kept while nobody answers, spread by chance. */
import type { LookupFunction } from 'node:net'
import t from 'tap'
import { addressesOf } from '../../../src/relay/dialogue/session.js'

/** What net.connect is told, with one address or with all. */
const told = (lookup: LookupFunction | undefined, all: boolean): Promise<unknown> =>
  new Promise((resolve) => lookup?.('', { all }, (_error, found) => resolve(found)))

const four = (...addresses: string[]) => addresses.map((address) => ({ address, family: 4 }))

t.test('a name is asked for once', async (t) => {
  let asked = 0
  const look = async () => {
    asked++
    return four('192.0.2.1', '192.0.2.2')
  }
  const firsts = new Set<unknown>()
  for (let i = 0; i < 200; i++)
    firsts.add(await told((await addressesOf('a.test', 4_001, look)).lookup, false))
  t.equal(asked, 1)
  t.same([...firsts].sort(), ['192.0.2.1', '192.0.2.2'], 'each has its turn')
  const { lookup, autoSelectFamilyAttemptTimeout } = await addressesOf('a.test', 4_001, look)
  t.equal(autoSelectFamilyAttemptTimeout, 2_000, 'and its part of the time')
  t.equal(((await told(lookup, true)) as unknown[]).length, 2)
})

t.test('two families are tried as the system does', async (t) => {
  const both = async () => [...four('192.0.2.1'), { address: '2001:db8::1', family: 6 }]
  t.notOk('autoSelectFamilyAttemptTimeout' in (await addressesOf('b.test', 4_000, both)))
})

t.test('a name that nobody knows is no address, and is asked for again', async (t) => {
  const down = () => Promise.reject(new Error('getaddrinfo EAI_AGAIN c.test'))
  await t.rejects(addressesOf('c.test', 1_000, down), /EAI_AGAIN/)
  t.equal(
    await told((await addressesOf('c.test', 1_000, async () => four('192.0.2.3'))).lookup, false),
    '192.0.2.3',
  )
})

t.test('from an address of ours, theirs are of the same family', async (t) => {
  const both = async () => [...four('192.0.2.1', '192.0.2.2'), { address: '2001:db8::1', family: 6 }]
  const six = await addressesOf('d.test', 1_000, both, ['::1', '127.0.0.1'])
  t.equal(six.localAddress, '::1', 'the first of ours says the family')
  t.equal(await told(six.lookup, false), '2001:db8::1')
  const firsts = new Set<unknown>()
  for (let i = 0; i < 200; i++)
    firsts.add(await told((await addressesOf('d.test', 1_000, both, ['127.0.0.1'])).lookup, false))
  t.same([...firsts].sort(), ['192.0.2.1', '192.0.2.2'])
  const ours = new Set<unknown>()
  for (let i = 0; i < 200; i++)
    ours.add((await addressesOf('d.test', 1_000, both, ['127.0.0.1', '::1', '127.0.0.2'])).localAddress)
  t.same([...ours].sort(), ['127.0.0.1', '127.0.0.2'], 'each of that family has its turn')
  await t.rejects(
    addressesOf('e.test', 1_000, async () => four('192.0.2.1'), ['::1']),
    /no address of the kind of ::1/,
  )
  await t.rejects(
    addressesOf('e.test', 1_000, async () => four('192.0.2.1'), []),
    /none of the addresses/,
  )
})
