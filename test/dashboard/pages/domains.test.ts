/** Sending domains without scripts: added, shown with what to publish, checked, deleted. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)

t.test('a domain from the first to the last', async (t) => {
  const empty = await browser.visit('/domains')
  t.match(empty.html, /No domain is signed yet/)
  const wrong = await browser.submit(empty, 'add', { name: 'no domain' })
  t.equal(wrong.status, 422)
  t.match(wrong.html, /value="no domain"[^>]*aria-invalid/)
  const added = await browser.send(empty, 'add', { name: 'shop.invalid' })
  t.match(added.html, /Signed, and not checked yet/)
  t.match(added.html, /_domainkey\.shop\.invalid/)
  t.match(added.html, /v=DMARC1; p=none; rua=mailto:dmarc-reports@bounce\.test/)
  t.match(added.html, /shop\.invalid\._report\._dmarc\.bounce\.test/, 'the bounce domain consents')
  t.match(added.html, /_smtp\._tls\.shop\.invalid/)
  t.match(added.html, /bounce\.test/, 'where SPF is checked')
  const checked = await browser.submit(added, 'check')
  t.equal(checked.status, 200)
  t.match(checked.html, /not found in DNS|did not answer|not as it should be/)
  t.match((await browser.send(added, 'rotate')).html, /signs once it is found in DNS/)
  t.match((await browser.send(added, 'delete')).html, /shop\.invalid is deleted/)
  t.equal((await browser.visit('/domains/shop.invalid')).status, 404)
})
