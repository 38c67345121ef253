import { createHash, randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { hashImported, isChosenSecret, isKeyedSecret, isMachineMade } from '../../../src/tenant/credential.js'

/** Not random, so that no run is unlucky. */
const octets = (n: number, length: number): Buffer =>
  createHash('sha512').update(`secret ${n}`).digest().subarray(0, length)

t.test('what machines make', async (t) => {
  const shapes = {
    base64: (n: number) => octets(n, 33).toString('base64'),
    base64url: (n: number) =>
      `SG.${octets(n, 16).toString('base64url')}.${octets(n + 999, 32).toString('base64url')}`,
    hex: (n: number) => octets(n, 20).toString('hex'),
  }
  for (const [name, make] of Object.entries(shapes)) {
    const known = Array.from({ length: 200 }, (_, n) => make(n)).filter(isMachineMade).length
    t.ok(known >= 190, `${name}: ${known} of 200`)
  }
  t.ok(isMachineMade('0b8d5f53-96c1-4e0a-9b7e-2d6a417c38fe'))
})

t.test('what people make, and what is too short, has the full price', async (t) => {
  for (const secret of [
    'letmein-12',
    'Tr0ub4dor&3',
    'correct-horse-battery-staple-and-some-more',
    'CorrectHorseBatteryStaple2024SummerHoliday',
    'P4ssw0rdP4ssw0rdP4ssw0rdP4ssw0rd',
    'qwertyuiopasdfghjklzxcvbnm1234567890',
    '0123456789abcdef0123456789abcdef',
    '0123456789abcdeffedcba9876543210',
    '12345678901234567890123456789012345',
    'deadbeefdeadbeefdeadbeefdeadbeef',
    'The shop sends its mail here since 2019, says Bo',
    // of time and place, not of chance
    'c232ab00-9414-11ec-b3c8-9f6bdeced846',
    // random, but of 22 characters: it can not be told from a clever person's
    'k7Qz2Vb9Xw4Lr8Tn3Ym6Pc',
    '',
  ]) {
    t.notOk(isMachineMade(secret), secret)
    if (secret !== '') t.match(await hashImported(randomBytes(32), 'cred_1', secret), /^\$2b\$10\$/)
  }
})

t.test('a kept secret is proved by itself, its row and its pepper only', async (t) => {
  const [pepper, secret] = [randomBytes(32), octets(1, 33).toString('base64')]
  const row = { id: 'cred_1', hash: await hashImported(pepper, 'cred_1', secret) }
  t.match(row.hash, /^hmac-sha256\$[\w-]{43}$/)
  t.equal(isKeyedSecret(pepper, row, secret), true)
  t.equal(isKeyedSecret(pepper, row, `${secret}x`), false)
  t.equal(isKeyedSecret(pepper, { ...row, id: 'cred_2' }, secret), false)
  t.equal(isKeyedSecret(randomBytes(32), row, secret), false)
  t.equal(await isChosenSecret(row.hash, secret), false, 'nor by the slow way')

  const chosen = { id: 'cred_1', hash: await hashImported(pepper, 'cred_1', 'letmein-12') }
  t.equal(isKeyedSecret(pepper, chosen, 'letmein-12'), false)
  t.equal(await isChosenSecret(chosen.hash, 'letmein-12'), true)
  t.equal(await isChosenSecret(chosen.hash, randomUUID()), false)
  t.equal(await isChosenSecret(null, 'letmein-12'), false)
})
