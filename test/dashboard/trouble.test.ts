/** What goes wrong before anybody is known is a page as well, and no sign-in form. */
import t from 'tap'
import { CookieClient } from '../parts/cookie-client.js'
import { openSite } from './sign-in/site.js'

t.test('a store that is away is told, with a session and without one', async (t) => {
  const site = await openSite({ office: { allowed_domains: ['acme.test'] } })
  t.teardown(() => site.stop())
  const ana = new CookieClient()
  await site.viaOffice(ana)
  await site.store.close()
  for (const path of ['/emails', '/errors', '/no-such-page']) {
    const { status, text } = await site.get(ana, path, { headers: { accept: 'text/html' } })
    t.equal(status, 503, path)
    t.match(text, /Not available for now/)
    t.notMatch(text, /Password/)
  }
})
