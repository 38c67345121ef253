/** AUTH PLAIN and LOGIN, with and without an initial response. */
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../src/smtp/commands.js'
import { beginLogin, type LoginStep } from '../../src/smtp/rules.js'

const b64 = (text: string): string => Buffer.from(text).toString('base64')

/** Plays the client's responses; answers the last step. */
const exchange = (first: string, ...responses: readonly string[]): LoginStep => {
  const { login, step } = beginLogin(first.split(' '))
  return responses.reduce((_before, response) => login.next(response), step)
}

t.test('the four forms', async (t) => {
  const credentials = { user: 'ana', password: 'pässword' }
  const token = b64('\0ana\0pässword')
  t.same(exchange(`PLAIN ${token}`), { credentials })
  t.same(exchange('plain', token), { credentials })
  t.same(exchange('PLAIN'), { challenge: '' })
  t.same(exchange(`LOGIN ${b64('ana')}`, b64('pässword')), { credentials })
  t.same(exchange('login', b64('ana'), b64('pässword')), { credentials })
  t.same(exchange('LOGIN'), { challenge: b64('Username:') })
  t.same(exchange('LOGIN', b64('ana')), { challenge: b64('Password:') })
})

t.test('an empty initial response is written as =', async (t) => {
  t.same(exchange('LOGIN ='), { challenge: b64('Password:') })
  t.same(exchange('LOGIN =', b64('x')), { credentials: { user: '', password: 'x' } })
  t.throws(() => exchange('PLAIN ='), /^501/, 'says neither who nor what')
  t.throws(() => exchange('LOGIN', '='), /^501/, 'only there (RFC 4954, section 4)')
})

t.test('who is who in PLAIN', async (t) => {
  t.same(exchange(`PLAIN ${b64('boss\0ana\0x')}`), { credentials: { user: 'ana', password: 'x' } })
  t.same(exchange(`PLAIN ${b64('ana\0\0x')}`), { credentials: { user: 'ana', password: 'x' } })
  t.same(exchange(`PLAIN ${b64('\0\0x')}`), { credentials: { user: '', password: 'x' } })
  t.same(exchange(`PLAIN ${b64('\0a\0').replace(/=+$/, '')}`), { credentials: { user: 'a', password: '' } })
})

t.test('any password comes through', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (password) => {
      if (password.includes('\0')) return true
      const steps = [
        exchange(`PLAIN ${b64(`\0u\0${password}`)}`),
        exchange(`LOGIN ${b64('u')}`, b64(password)),
      ]
      return steps.every((step) => 'credentials' in step && step.credentials.password === password)
    }),
  )
})

t.test('nonsense is refused', async (t) => {
  for (const [first, ...rest] of [
    ['PLAIN ='],
    ['PLAIN ****'],
    ['PLAIN', '*'],
    [`PLAIN ${b64('a\0b')}`],
    [`PLAIN ${b64('\0a\nb\0c')}`],
    ['LOGIN', b64('a\rb')],
    ['LOGIN', '*'],
    ['LOGIN', b64('a'), '*'],
    ['XOAUTH2 x'],
    [''],
    ['PLAIN a b'],
  ] as const) {
    t.throws(() => exchange(first, ...rest), Refusal, first)
  }
})
