import t from 'tap'
import { codeOf, type House, openHouse } from '../house.js'

const GOOD = 'violet river under glass'
const HOME = '192.0.2.7'

const attempt = ({ tenants, account }: House, over: object = {}) =>
  tenants.provePerson(account.id, {
    ...{ email: 'ana@acme.test', password: GOOD, address: HOME, device: null },
    ...over,
  })

const openWith = async (t: Parameters<typeof openHouse>[0]) => {
  const house = await openHouse(t)
  const ana = await house.tenants.createPerson(house.account.id, {
    ...{ email: 'ana@acme.test', role: 'owner', password: GOOD },
  })
  return { ...house, ana }
}

t.test('the right one is known, nobody else', async (t) => {
  const house = await openWith(t)
  const { tenants, account } = house
  await tenants.createPerson(account.id, { email: 'oidc@acme.test', role: 'viewer' })
  t.equal((await attempt(house))?.id, house.ana.id)
  t.equal((await attempt(house, { email: ' ANA@acme.test ' }))?.id, house.ana.id)
  t.equal(await attempt(house, { password: `${GOOD}.` }), null)
  t.equal(await attempt(house, { email: 'nobody@acme.test' }), null)
  t.equal(await attempt(house, { email: house.ana.id }), null, 'an id is no name')
  t.equal(await attempt(house, { email: 'oidc@acme.test', password: '' }), null)
  const bo = await tenants.createPerson(account.id, {
    ...{ email: 'bo@acme.test', role: 'viewer', password: GOOD },
  })
  await house.store.updateUser(account.id, bo.id, { disabledAt: 1 })
  t.equal(await attempt(house, { email: 'bo@acme.test', address: '192.0.2.99' }), null)
})

t.test('guesses are slowed, and keep nobody out of a browser that he used before', async (t) => {
  const house = await openWith(t)
  const device = house.tenants.deviceOf(house.ana)
  const guess = (address: string) => attempt(house, { password: 'wrong', address })
  for (let n = 0; n < 5; n++) t.equal(await guess(HOME), null)
  t.equal(await codeOf(guess(HOME)), 'rate_limit.auth_failures')
  t.equal(await codeOf(attempt(house)), 'rate_limit.auth_failures', 'also with the right password')
  t.equal((await attempt(house, { device }))?.id, house.ana.id, 'but not in a known browser')
  t.equal((await attempt(house, { address: '198.51.100.1' }))?.id, house.ana.id, 'nor from elsewhere')
  const crowd = Array.from({ length: 25 }, (_, n) => `203.0.113.${n}`)
  for (const address of crowd) await guess(address)
  const fresh = attempt(house, { address: '198.51.100.2' })
  t.equal(await codeOf(fresh), 'rate_limit.auth_failures', 'a crowd at one account')
  t.equal((await attempt(house, { device, address: '198.51.100.2' }))?.id, house.ana.id)
  for (let n = 0; n < 5; n++) await attempt(house, { device, password: 'wrong' })
  t.equal(await codeOf(attempt(house, { device })), 'rate_limit.auth_failures', 'who took the browser')
  house.clock.pass(60_000)
  t.equal((await attempt(house))?.id, house.ana.id)
  await house.store.updateUser(house.account.id, house.ana.id, { hash: '$2b$10$other' })
  const changed = await house.tenants.findPerson(house.account.id, house.ana.id)
  t.not(house.tenants.deviceOf(changed), device, 'another password, another proof')
})

t.test('slow work is bounded: a crowd is told to come again', async (t) => {
  const house = await openWith(t)
  const crowd = Array.from({ length: 60 }, (_, n) =>
    codeOf(attempt(house, { email: `p${n}@acme.test`, address: `203.0.${n}.1` })),
  )
  const codes = await Promise.all(crowd)
  t.equal(codes.filter((code) => code === null).length, 22, 'two at once and twenty in line')
  t.equal(codes.filter((code) => code === 'rate_limit.auth_failures').length, 38)
  t.equal((await attempt(house))?.id, house.ana.id)
})
