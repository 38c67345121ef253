import fc from 'fast-check'
import t from 'tap'
import { decodeXtext, encodeXtext, isXtext } from '../../src/mail/xtext.js'

t.equal(encodeXtext('a+b=c d@e.f'), 'a+2Bb+3Dc+20d@e.f')
t.equal(decodeXtext('a+2Bb+3Dc+20d@e.f'), 'a+b=c d@e.f')
t.equal(decodeXtext('100+ZZ+4'), '100+ZZ+4', 'a broken escape stays')
t.equal(decodeXtext('+c3+BC'), 'ü')
t.notOk(isXtext('a b'))
t.notOk(isXtext('a+2b'), 'hex digits are upper-case')

t.test('there and back', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const encoded = encodeXtext(text)
      return isXtext(encoded) && decodeXtext(encoded) === text
    }),
  )
})
