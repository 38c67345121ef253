/**
 * AUTH at scripted servers: what goes out, and what does not. Real servers stand in tls.test.ts.
 */
import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import type { TokenSource, UpstreamLogin } from '../../../src/relay/dialogue/login.js'
import { openSession, SetupFailure } from '../../../src/relay/dialogue/session.js'
import { UpstreamServer } from '../upstream-server.js'

const TIMEOUTS = { connect: 5_000, greeting: 5_000, hurried: 5_000 }
const text = (line: string | undefined): string =>
  Buffer.from((line ?? '').replace(/^AUTH \S+ /, ''), 'base64').toString()

interface Result {
  /** The mechanism, or what went wrong. */
  readonly said: string
  /** From AUTH on. */
  readonly lines: readonly string[]
}

/** Signs in at a server that offers `extensions` and answers each line of the dialogue in turn. */
const signIn = async (
  t: Test,
  login: UpstreamLogin,
  extensions: readonly string[],
  answers: readonly string[] = ['235 2.7.0 welcome'],
): Promise<Result> => {
  const server = new UpstreamServer({ extensions, converse: [...answers] })
  const port = await server.listen()
  t.teardown(() => server.close())
  const target = { host: '127.0.0.1', port, tls: 'none', fingerprint: null, login } as const
  const said = await openSession(
    { ...target, clientCertFile: null, clientKeyFile: null },
    'postern.test',
    TIMEOUTS,
  ).then(
    ({ mechanism, line }) => {
      line.quit()
      return mechanism ?? 'none'
    },
    (error) => {
      t.type(error, SetupFailure)
      t.equal(error.stage, 'auth')
      return (error as Error).message
    },
  )
  return { said, lines: server.lines.filter((line) => !line.startsWith('EHLO')) }
}

const PASSWORD: UpstreamLogin = { user: 'ana@acme.test', secret: 'pass word' }
const tokens = (...list: string[]): TokenSource & { asked: number } => ({
  asked: 0,
  async token() {
    this.asked++
    return list[0] ?? ''
  },
  async insteadOf(refused) {
    this.asked++
    return list[list.indexOf(refused) + 1] ?? null
  },
})

t.test('a password goes by what is offered, and by nothing else', async (t) => {
  t.same(await signIn(t, PASSWORD, ['AUTH CRAM-MD5 LOGIN PLAIN XOAUTH2']), {
    said: 'PLAIN',
    lines: [`AUTH PLAIN ${Buffer.from('\0ana@acme.test\0pass word').toString('base64')}`],
  })
  const login = await signIn(
    t,
    PASSWORD,
    ['AUTH=LOGIN CRAM-MD5'],
    ['334 VXNlcm5hbWU6', '334 UGFzc3dvcmQ6', '235 ok'],
  )
  t.same(
    [login.said, login.lines[0], ...login.lines.slice(1).map(text)],
    ['LOGIN', 'AUTH LOGIN', 'ana@acme.test', 'pass word'],
  )
  const challenge = '<1.2@mx.test>'
  const cram = await signIn(
    t,
    PASSWORD,
    ['AUTH cram-md5'],
    [`334 ${Buffer.from(challenge).toString('base64')}`, '235 ok'],
  )
  const proof = createHmac('md5', 'pass word').update(challenge).digest('hex')
  t.same([cram.said, text(cram.lines[1])], ['CRAM-MD5', `ana@acme.test ${proof}`])
  const asked = await signIn(
    t,
    { ...PASSWORD, mechanism: 'CRAM-MD5' },
    ['AUTH PLAIN CRAM-MD5'],
    ['334 PDE+', '235 ok'],
  )
  t.equal(asked.said, 'CRAM-MD5')
  const refusals = [
    [PASSWORD, ['AUTH XOAUTH2'], 'the server offers XOAUTH2 only, and there is a password'],
    [PASSWORD, ['AUTH XOAUTH2 GSSAPI'], 'the server offers XOAUTH2, GSSAPI only, and there is a password'],
    [PASSWORD, ['SIZE 1000'], 'the server offers no AUTH: take the login away'],
    [{ ...PASSWORD, mechanism: 'LOGIN' }, ['AUTH PLAIN'], 'the server offers PLAIN only, and LOGIN is set'],
    [
      { user: 'u', secret: tokens('t') },
      ['AUTH PLAIN'],
      'the server offers PLAIN only, and there is a token',
    ],
  ] as const
  for (const [login, extensions, said] of refusals)
    t.same(await signIn(t, login, extensions), { said, lines: [] }, said)
})

t.test('a refusal tells what the server said, and no secret', async (t) => {
  const { said } = await signIn(t, PASSWORD, ['AUTH PLAIN'], ['535 5.7.8 Bad credentials'])
  t.equal(said, 'PLAIN refused: 535 5.7.8 Bad credentials')
  const later = await signIn(t, PASSWORD, ['AUTH LOGIN'], ['334 VXNlcm5hbWU6', '454 4.7.0 Try later'])
  t.equal(later.said, 'LOGIN refused: 454 4.7.0 Try later')
  t.equal(later.lines.length, 2, 'the password stays at home')
  const bye = await signIn(t, PASSWORD, ['AUTH PLAIN'], ['421 4.7.0 too many logins'])
  t.equal(bye.said, 'PLAIN refused: 421 4.7.0 too many logins')
  const asks = ['334 VXNlcm5hbWU6', '334 UGFzc3dvcmQ6', `334 ${Buffer.from('PIN:').toString('base64')}`]
  t.equal((await signIn(t, PASSWORD, ['AUTH LOGIN'], asks)).said, 'LOGIN: the server asks once more (PIN:)')
  const nonsense = await signIn(t, PASSWORD, ['AUTH LOGIN'], ['what?'])
  t.equal(nonsense.said, 'LOGIN refused: 0 no SMTP reply')
})

t.test('tokens', async (t) => {
  const login = (...list: string[]): UpstreamLogin => ({ user: 'a,b=c@acme.test', secret: tokens(...list) })
  const microsoft = await signIn(t, login('tok'), ['AUTH LOGIN XOAUTH2'])
  t.equal(microsoft.said, 'XOAUTH2')
  t.equal(text(microsoft.lines[0]), 'user=a,b=c@acme.test\x01auth=Bearer tok\x01\x01')
  const bearer = await signIn(t, login('tok'), ['AUTH OAUTHBEARER'])
  t.match(
    text(bearer.lines[0]),
    /^n,a=a=2Cb=3Dc@acme\.test,\x01host=127\.0\.0\.1\x01port=\d+\x01auth=Bearer tok\x01\x01$/,
  )
  const long = 'x'.repeat(2_000)
  const split = await signIn(t, login(long), ['AUTH XOAUTH2'], ['334 ', '235 ok'])
  t.same([split.said, split.lines[0]], ['XOAUTH2', 'AUTH XOAUTH2'])
  t.match(text(split.lines[1]), long, 'a long token waits for 334')
})

t.test('a token that is refused is asked for anew, once', async (t) => {
  const error = Buffer.from('{"status":"401","schemes":"bearer","scope":"https://mail.test/"}').toString(
    'base64',
  )
  const refused = [`334 ${error}`, '535 5.7.8 no']
  const source = tokens('old', 'new', 'never')
  const good = await signIn(t, { user: 'u', secret: source }, ['AUTH XOAUTH2'], [...refused, '235 ok'])
  t.equal(good.said, 'XOAUTH2')
  t.same(good.lines.map(text), ['user=u\x01auth=Bearer old\x01\x01', '', 'user=u\x01auth=Bearer new\x01\x01'])
  t.equal(source.asked, 2)
  const both = { user: 'u', secret: tokens('old', 'new', 'never') }
  const bad = await signIn(t, both, ['AUTH OAUTHBEARER'], [...refused, ...refused])
  t.equal(bad.said, 'OAUTHBEARER refused: 535 5.7.8 no (status 401, scope https://mail.test/)')
  t.same(bad.lines[1], 'AQ==')
  t.equal(bad.lines.length, 4)
  const same = await signIn(t, { user: 'u', secret: tokens('only') }, ['AUTH XOAUTH2'], ['535 5.7.3 no'])
  t.match(same, { said: 'XOAUTH2 refused: 535 5.7.3 no', lines: { length: 1 } })
  const broken: TokenSource = {
    token: () => Promise.reject(new Error('no token: it is down')),
    insteadOf: async () => null,
  }
  t.same(await signIn(t, { user: 'u', secret: broken }, ['AUTH XOAUTH2']), {
    said: 'no token: it is down',
    lines: [],
  })
})

t.test('a server that repeats the secret tells nobody', async (t) => {
  const blob = Buffer.from('\0ana@acme.test\0pass word').toString('base64')
  const words = `you said "${blob}", that is pass word, ${blob.slice(0, 20)} for short, or PASS WORD`
  const plain = await signIn(t, PASSWORD, ['AUTH PLAIN'], [`535 5.7.8 ${words}`])
  t.equal(plain.said, 'PLAIN refused: 535 5.7.8 you said "…", that is …, … for short, or …')
  const encoded = Buffer.from('pass word').toString('base64')
  const steps = ['334 VXNlcm5hbWU6', '334 UGFzc3dvcmQ6', `535 no: pw=${encoded}`]
  t.equal((await signIn(t, PASSWORD, ['AUTH LOGIN'], steps)).said, 'LOGIN refused: 535 no: pw=…')
  const challenge = Buffer.from('{"status":"of token-42\\u001b[31m"}').toString('base64')
  const token = { user: 'u', secret: tokens('token-42') }
  const answers = [`334 ${challenge}`, '535 5.7.8 bad token-42']
  const { said } = await signIn(t, token, ['AUTH XOAUTH2'], answers)
  t.equal(said, 'XOAUTH2 refused: 535 5.7.8 bad … (status of … [31m)')
})

t.test('a server that goes silent or away is told as one that did so in AUTH', async (t) => {
  for (const [act, said] of [
    ['stall', /^no answer to AUTH in [\d.]+ s$/],
    ['close', /^connection closed by the upstream$/],
    ['reset', /ECONNRESET|closed/],
  ] as const) {
    const extensions = ['AUTH PLAIN']
    const server = new UpstreamServer({ extensions, act: (stage) => (stage === 'auth' ? act : undefined) })
    const port = await server.listen()
    t.teardown(() => server.close())
    const target = { host: '127.0.0.1', port, tls: 'none', fingerprint: null, login: PASSWORD } as const
    const timeouts = { ...TIMEOUTS, greeting: act === 'stall' ? 500 : TIMEOUTS.greeting }
    const opened = openSession({ ...target, clientCertFile: null, clientKeyFile: null }, 'k.test', timeouts)
    await t.rejects(opened, { stage: 'auth', message: said }, act)
  }
})
