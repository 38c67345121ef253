/** Which addresses a URL from outside may lead to: every refused range, in every form in which IPv6 carries it. */
import { BlockList } from 'node:net'
import { networkInterfaces } from 'node:os'
import fc from 'fast-check'
import t from 'tap'
import { createJudge, unmapped } from '../../../src/base/dial.js'

const judge = createJudge({ allow: [], ownPorts: () => [] })
const isCalled = (address: string): boolean => judge(address, 443, true) === null

// as the contract lists them; not taken from the code
const V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const
const V6 = [
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const

const number = (address: string): number =>
  address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
const dotted = (n: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.')
const hex = (n: number): string => `${Math.floor(n / 65536).toString(16)}:${(n % 65536).toString(16)}`

const FORMS: readonly ((n: number) => string)[] = [
  dotted,
  (n) => `::ffff:${dotted(n)}`,
  (n) => `::ffff:${hex(n)}`,
  (n) => `::FFFF:${hex(n)}`,
  (n) => `0:0:0:0:0:ffff:${hex(n)}`,
  (n) => `::ffff:0:${hex(n)}`,
  (n) => `64:ff9b::${hex(n)}`,
  (n) => `64:ff9b::${dotted(n)}`,
  (n) => `0064:ff9b:0:0:0:0:${hex(n)}`,
  (n) => `2002:${hex(n)}::1`,
  (n) => `2002:${hex(n)}:aaaa:bbbb:cccc:dddd:eeee`,
  (n) => `::${hex(n)}`,
]

const inV4 = fc
  .constantFrom(...V4)
  .chain(([base, bits]) =>
    fc.integer({ min: 0, max: 2 ** (32 - bits) - 1 }).map((offset) => number(base) + offset),
  )

t.test('no address of a refused range is called, however it is written', async (t) => {
  fc.assert(
    fc.property(inV4, fc.constantFrom(...FORMS), (n, form) => !isCalled(form(n))),
    { numRuns: 5000 },
  )
  for (const [base, bits] of V4) {
    for (const n of [number(base), number(base) + 2 ** (32 - bits) - 1])
      for (const form of FORMS) t.notOk(isCalled(form(n)), form(n))
  }
  const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 7, maxLength: 7 })
  fc.assert(
    fc.property(
      fc.constantFrom(...V6),
      fc.integer({ min: 0, max: 0xffff }),
      groups,
      ([base, bits], low, rest) => {
        const first = Number.parseInt(base, 16) | (low & (0xffff >> bits))
        return !isCalled([first, ...rest].map((group) => group.toString(16)).join(':'))
      },
    ),
  )
  for (const address of [
    '::',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:169.254.169.254',
    'fe80::1%eth0',
    '64:ff9b:1::a00:1',
  ])
    t.notOk(isCalled(address), address)
})

t.test('an address outside of them is called', async (t) => {
  const list = new BlockList()
  for (const [base, bits] of V4) list.addSubnet(base, bits)
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(...FORMS), (n, form) => {
      fc.pre(!list.check(dotted(n)))
      return isCalled(form(n))
    }),
    { numRuns: 5000 },
  )
  for (const address of [
    '2606:4700::1111',
    '2a00:1450:4001::200e',
    '9.255.255.255',
    '11.0.0.0',
    '223.255.255.255',
  ])
    t.ok(isCalled(address), address)
})

t.test('what an operator allows is called, by plain http too, and nothing else by plain http', async (t) => {
  const open = createJudge({ allow: ['10.1.0.0/16', 'fd00::/8'], ownPorts: () => [] })
  t.equal(open('10.1.2.3', 80, false), null)
  t.equal(open('::ffff:10.1.2.3', 443, true), null)
  t.equal(open('64:ff9b::a01:203', 443, true), null)
  t.equal(open('fd12::1', 80, false), null)
  t.match(open('10.2.0.1', 443, true), /private or reserved/)
  t.match(open('203.0.113.7', 80, false), /https only/)
  t.equal(open('203.0.113.7', 443, true), null)
})

t.test('our own listeners are never called, whatever is allowed', async (t) => {
  const ports = [8080]
  const open = createJudge({ allow: ['0.0.0.0/0', '::/0'], ownPorts: () => ports })
  const ours = Object.values(networkInterfaces()).flatMap((list) => list?.map((one) => one.address) ?? [])
  t.ok(ours.length > 0)
  for (const address of [
    ...ours,
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
  ]) {
    t.match(open(address, 8080, true), /this very server/, address)
    t.equal(open(address, 8081, true), null, address)
  }
  t.equal(open('203.0.113.7', 8080, true), null)
  ports.push(8081)
  t.match(open('127.0.0.1', 8081, true), /this very server/, 'a port that was opened since')
})

t.test('the address inside', async (t) => {
  t.equal(unmapped('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(unmapped('::ffff:c000:201'), '192.0.2.1')
  t.equal(unmapped('64:ff9b::c000:201'), '192.0.2.1')
  t.equal(unmapped('2002:c000:201::1'), '192.0.2.1')
  t.equal(unmapped('2001:db8::1'), '2001:db8::1')
  t.equal(unmapped('192.0.2.1'), '192.0.2.1')
})
