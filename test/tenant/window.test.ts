import t from 'tap'
import { createFailures, secondsUntil } from '../../src/tenant/limits.js'
import { openHouse, stillClock } from './house.js'

t.test('a fixed minute, exact under concurrency', async (t) => {
  const { tenants, account, clock } = await openHouse(t)
  const { secret } = await tenants.createKey(account.id, { name: 'k', rateLimitPerMinute: 5 })
  const principal = await tenants.authenticateBearer(secret)
  const states = await Promise.all(Array.from({ length: 20 }, () => tenants.sendWindow.consume(principal, 1)))
  t.equal(states.filter(({ allowed }) => allowed).length, 5)
  t.ok(states.every(({ remaining }) => remaining >= 0))
  const reset = clock.now() / 1000 + 60
  t.strictSame(await tenants.sendWindow.peek(principal), { allowed: true, limit: 5, remaining: 0, reset })
  const refused = await tenants.sendWindow.consume(principal, 1)
  t.match(tenants.sendWindow.exceeded(refused), { code: 'rate_limit.exceeded', options: { retryAfter: 60 } })
  clock.pass(60_000)
  t.match(await tenants.sendWindow.consume(principal, 6), { allowed: false, remaining: 5 }, 'all or none')
  t.match(await tenants.sendWindow.consume(principal, 5), { allowed: true, remaining: 0 })
})

t.test('waiting is never too short', async (t) => {
  t.equal(secondsUntil(60, 0), 60)
  t.equal(secondsUntil(60, 59_001), 1)
  t.equal(secondsUntil(60, 58_001), 2)
  t.equal(secondsUntil(60, 60_000), 1)
})

t.test('failures are counted per address, IPv6 per /64', async (t) => {
  const clock = stillClock()
  const failures = createFailures(clock, () => 2)
  const fail = (ip: string) => failures.count(ip)
  fail('2001:db8:1:2::1')
  fail('2001:db8:1:2:ffff::9')
  t.throws(() => failures.check('2001:db8:1:2:0:0:0:3'), { code: 'rate_limit.auth_failures' })
  t.doesNotThrow(() => failures.check('2001:db8:1:3::1'))
  fail('::ffff:192.0.2.1')
  fail('192.0.2.1')
  t.match(failures.peek('192.0.2.1'), { remaining: 0, limit: 2, allowed: false })
  t.match(failures.peek('192.0.2.2'), { remaining: 2, allowed: true })
  clock.pass(60_000)
  t.doesNotThrow(() => failures.check('192.0.2.1'))
})
