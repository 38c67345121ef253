/** The longest that fits counts. */
import t from 'tap'
import { isRoutedTo, poolFor } from '../../../src/store/port/tenants.js'

const routing = {
  poolId: 'main',
  routes: [
    { domain: '.example.com', poolId: 'under' },
    { domain: 'example.com', poolId: 'itself' },
    { domain: '.eu.example.com', poolId: 'eu' },
    { domain: 'shop.eu.example.com', poolId: 'shop' },
    { domain: 'xn--bcher-kva.example', poolId: 'books' },
  ],
}

t.test('by the domain of a recipient', async (t) => {
  const cases = [
    ['a@example.com', 'itself'],
    ['a@EXAMPLE.com', 'itself'],
    ['a@us.example.com', 'under'],
    ['a@eu.example.com', 'under'],
    ['a@x.eu.example.com', 'eu'],
    ['a@shop.eu.example.com', 'shop'],
    ['a@badexample.com', 'main'],
    ['a@bücher.example', 'books'],
    ['"a@example.com"@other.test', 'main'],
  ] as const
  for (const [address, pool] of cases) t.equal(poolFor(routing, address), pool, address)
  t.equal(poolFor({ poolId: 'main', routes: [] }, 'a@example.com'), 'main')
})

t.test('what may be used', async (t) => {
  t.ok(isRoutedTo(routing, 'main'))
  t.ok(isRoutedTo(routing, 'eu'))
  t.notOk(isRoutedTo(routing, 'other'))
  t.notOk(isRoutedTo(routing, undefined))
})
