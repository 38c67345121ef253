import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import t from 'tap'
import type { Claimed } from '../../src/lifecycle/facts.js'
import { signMessage } from '../../src/mail/dkim.js'
import { downgradeHeader } from '../../src/relay/dialogue/envelope.js'
import { Signing } from '../../src/relay/signing.js'
import type { DkimKeyRow, DomainRow } from '../../src/store/port/tenants.js'
import { verifies } from '../parts/dkim-verify.js'

const NOW = 1_800_000_000_500
const RAW = Buffer.from('From: a@acme.test\r\nTo: b@c.test\r\nSubject: voilà\r\n\r\nHi.\r\n')

const pairOf = (selector: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const sealed = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  return { publicKey, row: { state: 'active', selector, sealed } as DkimKeyRow }
}
const first = pairOf('s1')
const second = pairOf('s2')

const domainOf = (keys: readonly DkimKeyRow[], updatedAt = 1): DomainRow => ({
  id: 'dom_1',
  accountId: 'acc_1',
  workspaceId: null,
  name: 'acme.test',
  keys,
  verifiedAt: null,
  checkedAt: null,
  createdAt: 1,
  updatedAt,
})
const claimed = (emailId: string) => ({ emailId, from: 'a@acme.test', workspaceId: 'ws_1' }) as Claimed

const make = (keys: readonly DkimKeyRow[], maker: typeof signMessage = signMessage) => {
  const troubles: string[] = []
  let made = 0
  const signing = new Signing(
    (sealed) => sealed,
    (domain) => troubles.push(domain),
    (...given) => {
      made++
      return maker(...given)
    },
  )
  signing.update([domainOf(keys)])
  const sign = async (emailId: string, { raw = RAW as Uint8Array, form = 'plain', now = NOW } = {}) =>
    Buffer.from(await signing.sign(claimed(emailId), 'acc_1', { raw, form, now })).toString('latin1')
  return { signing, sign, troubles, made: () => made }
}
const holds = (text: string, publicKey: KeyObject, selector: string) => verifies(text, publicKey, selector)

t.test('the recipients of a mail share a signature within a second', async (t) => {
  const { sign, made } = make([first.row])
  const texts = await Promise.all([sign('em_1'), sign('em_1'), sign('em_1', { now: NOW + 400 })])
  t.equal(new Set(texts).size, 1)
  t.ok(holds(texts[0] ?? '', first.publicKey, 's1'))
  t.equal(made(), 1)
  await sign('em_2')
  t.equal(made(), 2, 'another mail has its own')
  t.match(await sign('em_1', { now: NOW + 600 }), 't=1800000001;', 'it carries its time')
  t.equal(made(), 3)
})

t.test('each form of a mail has its own', async (t) => {
  const { sign, made } = make([first.row])
  const ascii = downgradeHeader(RAW) ?? RAW
  t.not(ascii, RAW)
  const [plain, downgraded] = await Promise.all([
    sign('em_1'),
    sign('em_1', { raw: ascii, form: 'downgraded' }),
  ])
  t.ok(holds(plain ?? '', first.publicKey, 's1'))
  t.ok(holds(downgraded ?? '', first.publicKey, 's1'))
  t.match(downgraded, '=?UTF-8?')
  t.equal(made(), 2)
})

t.test('a key that comes or goes between two recipients', async (t) => {
  const { signing, sign } = make([first.row])
  await sign('em_1')
  signing.update([domainOf([first.row, second.row], 2)])
  const both = await sign('em_1')
  t.ok(holds(both, first.publicKey, 's1') && holds(both, second.publicKey, 's2'), 'both sign')
  signing.update([domainOf([{ ...first.row, state: 'retired' } as DkimKeyRow, second.row], 3)])
  const one = await sign('em_1')
  t.notMatch(one, 's=s1;', 'who is out signs no more')
  t.ok(holds(one, second.publicKey, 's2'))
  signing.update([])
  t.equal(await sign('em_1'), RAW.toString('latin1'))
})

t.test('what failed is not kept', async (t) => {
  let fails = true
  const { sign, troubles } = make([first.row], (...given) =>
    fails ? Promise.reject(new Error('no memory')) : signMessage(...given),
  )
  t.equal(await sign('em_1'), RAW.toString('latin1'), 'it goes without one')
  t.same(troubles, ['acme.test'])
  fails = false
  t.ok(holds(await sign('em_1'), first.publicKey, 's1'))
})

t.test('two at once, the others in their turn', async (t) => {
  const open: (() => void)[] = []
  const { sign, made } = make([first.row], async (...given) => {
    await new Promise<void>((resolve) => open.push(resolve))
    return signMessage(...given)
  })
  const all = Promise.all(['em_1', 'em_2', 'em_3', 'em_4', 'em_5'].map((id) => sign(id)))
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await turn()
  t.equal(made(), 2)
  for (let n = 0; n < 5; n++) {
    while (open.length === 0) await turn()
    t.ok(open.length <= 2)
    open.shift()?.()
  }
  t.ok((await all).every((text) => holds(text, first.publicKey, 's1')))
  t.equal(made(), 5)
})
