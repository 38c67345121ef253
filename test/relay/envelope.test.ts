import t from 'tap'
import {
  type EnvelopeNeeds,
  type Offers,
  parseOffers,
  toEnvelope,
} from '../../src/relay/dialogue/envelope.js'
import { mail } from './parts.js'

const ALL = parseOffers(
  '250-mx.test hello\r\n250-PIPELINING\r\n250-SIZE 1000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 DSN',
)
const NONE = parseOffers('250 mx.test')

const needs = (change: Partial<EnvelopeNeeds> = {}): EnvelopeNeeds => ({
  claimed: mail(),
  returnPath: 'b1@bounces.test',
  envid: () => 'e1token',
  notifySuccess: true,
  size: 100,
  eightBit: false,
  needsSmtpUtf8: false,
  verified: false,
  ...change,
})

const commands = (change: Partial<EnvelopeNeeds>, offers: Offers = ALL): string => {
  const made = toEnvelope(needs(change), offers)
  return 'mail' in made ? `${made.mail}\n${made.rcpt}` : `${made.code} ${made.enhanced}`
}

t.test('offers', async (t) => {
  t.same(ALL, {
    pipelining: true,
    dsn: true,
    smtpUtf8: true,
    eightBitMime: true,
    requireTls: false,
    size: true,
    maxSize: 1000,
    auth: [],
  })
  t.ok(Object.values({ ...NONE, auth: false }).every((value) => !value))
  t.same(NONE.auth, [])
  t.match(parseOffers('250-x\n250-size=5\n250 dsn'), { size: true, maxSize: 5, dsn: true })
})

t.test('only what is offered is used', async (t) => {
  t.equal(
    commands({}),
    'MAIL FROM:<b1@bounces.test> SIZE=100 RET=HDRS ENVID=e1token\n' +
      'RCPT TO:<you@example.com> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;you@example.com',
  )
  t.equal(commands({}, NONE), 'MAIL FROM:<b1@bounces.test>\nRCPT TO:<you@example.com>')
  t.match(commands({ notifySuccess: false }), /NOTIFY=FAILURE,DELAY /)
  t.match(commands({ eightBit: true }), /BODY=8BITMIME/)
  t.notMatch(commands({}), /SMTPUTF8|8BITMIME/)
})

t.test('the name that a client gave its mail goes on; who hears of it is ours to ask', async (t) => {
  const dsn = { notify: 'NEVER', orcpt: 'rfc822;first+2Btag@example.com' }
  const asked = commands({ claimed: mail({ dsn, envid: 'QQ314+2B159', ret: 'full' }) })
  t.match(asked, 'RET=FULL ENVID=QQ314+2B159')
  t.match(
    asked,
    'NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;first+2Btag@example.com',
    'NEVER is for its sender',
  )
  t.match(commands({ returnPath: '' }), 'NOTIFY=NEVER', 'no report about a report')
  const smuggled = commands({
    claimed: mail({ dsn: { notify: 'SUCCESS', orcpt: 'a b\r\nDATA' }, envid: 'x\r\ny' }),
  })
  t.match(smuggled, 'ENVID=e1token')
  t.match(smuggled, 'NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;you@example.com')
  t.match(commands({ claimed: mail({ address: 'a+b=c@example.com' }) }), 'ORCPT=rfc822;a+2Bb+3Dc@example.com')
})

t.test('what is needed and not offered is refused, not bent', async (t) => {
  const international = mail({ address: 'jos\u00e9@example.com', needsSmtpUtf8: true })
  t.match(
    commands({ claimed: international }),
    /SMTPUTF8 BODY=8BITMIME .*\n.*ORCPT=utf-8;jos\\x\{E9\}@example.com/,
  )
  t.match(commands({ needsSmtpUtf8: true }), 'SMTPUTF8', 'also when only a header needs it')
  t.equal(commands({ claimed: international }, NONE), '550 5.6.7')
  t.equal(commands({ needsSmtpUtf8: true }, NONE), '550 5.6.7')
  t.equal(commands({ eightBit: true }, NONE), '554 5.6.3')
  t.equal(commands({ size: 1001 }), '552 5.3.4')
  t.equal(commands({ size: 1_000_000 }, NONE).slice(0, 4), 'MAIL')
})

t.test(
  'what requires TLS goes on under verified TLS to those who require it too, or not at all',
  async (t) => {
    const claimed = mail({ requireTls: true, ret: 'FULL' })
    const strict = { ...ALL, requireTls: true }
    t.match(commands({ claimed, verified: true }, strict), /^MAIL .* RET=HDRS .* REQUIRETLS\n/)
    t.equal(commands({ claimed, verified: false }, strict), '550 5.7.30')
    t.equal(commands({ claimed, verified: true }), '550 5.7.30')
    t.notMatch(commands({ verified: true }, strict), 'REQUIRETLS', 'nobody asked')
    const report = { claimed, returnPath: '' }
    t.notMatch(commands(report), 'REQUIRETLS', 'a report is not thrown away for it')
    t.match(commands({ ...report, verified: true }, strict), 'REQUIRETLS')
    t.match(commands({ claimed: mail({ requireTls: true, mode: 'test' }) }), /^MAIL/, 'the sandbox is here')
  },
)

t.test('no address can carry a command', async (t) => {
  for (const address of ['', 'a@b>\r\nDATA', 'a b@c', 'a@b\0', '<a@b>']) {
    t.equal(commands({ claimed: mail({ address }) }), '553 5.1.3')
  }
  t.equal(commands({ returnPath: 'x>\r\nRSET' }), '553 5.1.7')
  t.match(commands({ returnPath: '' }), 'MAIL FROM:<>')
})

t.test('a quoted local part goes out as it is', async (t) => {
  for (const address of ['"a b"@x.test', '"a<b>c"@x.test', '"q\\"q d"@x.test']) {
    t.match(commands({ claimed: mail({ address }) }), `RCPT TO:<${address}>`)
  }
})
