/** The list of those who are not written to, without scripts. */
import { join } from 'node:path'
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { eventually } from '../../parts/eventually.js'
import { openIncident } from '../../parts/incident.js'
import { Postern } from '../../parts/postern.js'
import { openStoreIn } from '../../parts/store.js'

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
  t.notMatch(gone.html, /Send again/, 'nothing bounced')
  const wide = await browser.send(page, 'add', { emails: 'all@b.example', scope: 'account' })
  t.match(wide.html, /all@b\.example is suppressed for every workspace/)
  t.notMatch((await browser.visit('/suppressions?origin=bounce')).html, /bo@b\.example/)
})

t.test('a whole domain, and a mailing list', async (t) => {
  const page = await browser.visit('/suppressions')
  const added = await browser.send(page, 'add', { emails: '*@F.example' })
  t.match(added.html, /All of f\.example is written to no more/)
  const found = await browser.visit('/suppressions?address=ana@f.example')
  t.match(found.html, /ana@f\.example is suppressed with its whole domain/)
  await browser.send(page, 'add', { emails: 'ana@f.example' })
  const still = await browser.send(await browser.visit('/suppressions?address=ana@f.example'), 'remove')
  t.match(still.html, /ana@f\.example is off this list, but \*@f\.example still suppresses it/)
  const gone = await browser.send(await browser.visit('/suppressions?address=*@f.example'), 'remove')
  t.match(gone.html, /All of f\.example is written to again/)

  const listed = await browser.send(page, 'add', { emails: 'dora@f.example', list: 'news' })
  t.match(listed.html, /dora@f\.example gets no mail of the list news/)
  t.match((await browser.visit('/suppressions?list=news')).html, /These get no mail of the list news/)
  t.match((await browser.visit('/suppressions?list=none')).html, /Nobody unsubscribed from none/)
  t.match((await browser.visit('/suppressions?address=dora@f.example')).html, /is not on the list/)
  const csv =
    'email,reason,origin,created_at,expires_at,list\nel@f.example,,unsubscribe,,,news\nfy@f.example,,manual,,,\n'
  t.match((await browser.send(page, 'import', { list: csv })).html, /2 addresses are on the list/)
  t.match((await browser.visit('/suppressions?address=el@f.example')).html, /is not on the list/)
  t.match((await browser.visit('/suppressions?address=fy@f.example')).html, /fy@f\.example is suppressed/)
  const el = await browser.visit('/suppressions?address=el@f.example&list=news')
  t.match(el.html, /el@f\.example gets no mail of the list news/)
  t.match((await browser.send(el, 'remove')).html, /el@f\.example is written to again/)
  t.notMatch((await browser.visit('/suppressions?list=news')).html, /el@f\.example/)
})

t.test('what bounced while somebody was suppressed is sent again', async (t) => {
  const key = await postern.key()
  await browser.send(await browser.visit('/suppressions'), 'add', { emails: 'cy@e.example', reason: 'x' })
  await postern.api('POST', '/v1/emails', key, { to: 'cy@e.example', text: 'x', from: 'a@b.example' })
  await browser.send(await browser.visit('/suppressions?address=cy@e.example'), 'remove')
  // the index comes after the mail
  const offer = await eventually('an offer', async () => {
    const page = await browser.visit('/suppressions?address=cy@e.example')
    return page.html.includes('Send again: 1 bounced') && page
  })
  const job = await browser.send(offer, 'again', { reason: 'she has a mailbox' })
  t.match(job.html, /she has a mailbox/)
})

t.test('a whole list is pasted; what is wrong is named by its line', async (t) => {
  const page = await browser.visit('/suppressions')
  const many = Array.from({ length: 230 }, (_, i) => `"x${i}@c.example",moved`)
  const text = ['Email Address,Reason', ...many.slice(0, 2), '', 'nobody,x', ...many, 'x@,'].join('\n')
  const done = await browser.send(page, 'import', { list: text, reason: 'left us' })
  t.match(done.html, /230 addresses are on the list\. No single address: lines 5, 236\./)
  t.match((await browser.visit('/suppressions?address=x229@c.example')).html, /left us/)
  const several = await browser.send(page, 'import', {
    list: 'one@d.example\ntwo@d.example, three@d.example',
  })
  t.match(several.html, /1 address is on the list\. No single address: line 2\./)
  const none = await browser.submit(page, 'import', { list: 'nobody\n<b>', reason: 'x' })
  t.equal(none.status, 422)
  t.match(none.html, /No single address: lines 1, 2\./)
  t.match(none.html, /nobody\n&lt;b>/, 'what was typed stays')
  const much = await browser.submit(page, 'import', { list: 'a@d.example\n'.repeat(10_001) })
  t.match(much.html, /at most 10,000 at once; these are 10,001/)
})

t.test('addresses that bounced at the same time wait for a decision', async (t) => {
  const store = await openStoreIn(join(postern.dir, 'data'), { daemon: false })
  await store.open()
  t.teardown(() => store.close())
  const [account] = await store.accounts()
  const workspace = await store.workspace(account?.id ?? '', 'default')
  const place = { accountId: account?.id ?? '', workspaceId: workspace?.id ?? '' }
  await openIncident(store, place, Date.now())
  const page = await browser.visit('/suppressions')
  t.match(page.html, /20 addresses of <bdi>refused\.test<\/bdi> were refused together/)
  t.match((await browser.visit('/suppressions?address=user3@refused.test')).html, /somebody must decide/)
  const done = await browser.send(page, 'accept')
  t.match(done.html, /They are written to no more/)
  t.notMatch(done.html, /refused together/)
  t.match(done.html, /user3@refused\.test/)
  for (let n = 0; n < 20; n++) await store.removeSuppression(place.workspaceId, `user${n}@refused.test`)
  await openIncident(store, place, Date.now())
  const gone = await browser.send(await browser.visit('/suppressions'), 'dismiss')
  t.match(gone.html, /They are written to as before/)
  t.notMatch(gone.html, /user3@refused\.test/)
  t.match((await browser.visit('/settings/audit')).html, /let live those refused together at/)
})
