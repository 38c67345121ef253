/** The list of those who are not written to, without scripts. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)

t.test('added, looked for, removed', async (t) => {
  const page = await browser.visit('/suppressions')
  t.match(page.html, /The list is empty/)
  const wrong = await browser.submit(page, 'add', { emails: 'ana@a.example\nnobody', reason: 'asked' })
  t.equal(wrong.status, 422)
  t.match(wrong.html, /nobody/, 'what was typed stays')
  t.match(wrong.html, /line 2 is no address/)
  const two = await browser.send(page, 'add', { emails: 'ana@a.example, bo@b.example', reason: 'asked <us>' })
  t.match(two.html, /2 addresses are on the list/)
  t.match(two.html, /asked &lt;us>/)
  const one = await browser.visit('/suppressions?address=Ana@a.example')
  t.match(one.html, /ana@a\.example is suppressed/)
  const gone = await browser.send(one, 'remove')
  t.match(gone.html, /ana@a\.example is written to again/)
  t.match(gone.html, /is not on the list/)
  const wide = await browser.send(page, 'add', { emails: 'all@b.example', scope: 'account' })
  t.match(wide.html, /all@b\.example is suppressed for every workspace/)
  t.notMatch((await browser.visit('/suppressions?origin=bounce')).html, /bo@b\.example/)
})
