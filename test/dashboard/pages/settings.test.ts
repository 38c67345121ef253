/** People, sessions, the audit and one's own settings by hand. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())
const browser = await signedIn(postern)

t.test('whoever came by a link is told to make an account, and may', async (t) => {
  const page = await browser.visit('/settings/people')
  t.match(page.html, 'You came by a setup link: make your own account now.')
  const weak = await browser.submit(page, 'own', { email: 'ana@acme.test', password: 'short' })
  t.equal(weak.status, 422)
  t.match(weak.html, /id="own-password-wrong"/)
  const made = await browser.send(page, 'own', {
    email: 'ana@acme.test',
    name: 'Ana <b>',
    password: 'a long enough sentence',
  })
  t.match(made.html, 'ana@acme.test is an owner.')
  t.notMatch(made.html, 'Ana <b>')
  t.match((await browser.visit('/settings/you')).html, 'This session is of nobody in particular')
})

t.test('an invitation is shown once, and taken back', async (t) => {
  const made = await browser.submit(await browser.visit('/settings/people/invite'), 'invite', {
    email: 'ben@acme.test',
    role: 'member',
  })
  const [link = ''] = /http:\/\/[^\s"<]*\/invitation\/[\w-]+/.exec(made.html) ?? []
  t.not(link, '')
  const list = await browser.visit('/settings/people')
  t.match(list.html, 'ben@acme.test')
  t.notMatch(list.html, link)
  t.match((await browser.send(list, 'take-back')).html, 'The invitation is taken back.')
})

t.test('a person gets a role, a setup link, and is disabled; not the last owner', async (t) => {
  const { token } = await postern.json('session', 'create')
  const made = await postern.api('POST', '/v1/users', token, { email: 'cleo@acme.test', role: 'viewer' })
  const { id } = made.body
  const path = `/settings/people/${id}`
  const changed = await browser.send(await browser.visit(path), 'change', { role: 'member' })
  t.match(changed.html, 'cleo@acme.test, member')
  t.match((await browser.submit(changed, 'link')).html, /\/setup\/[\w-]+/)
  t.match((await browser.send(changed, 'disable')).html, 'cleo@acme.test is disabled.')
  t.match((await browser.send(await browser.visit(path), 'enable')).html, 'cleo@acme.test, member')

  const { html } = await browser.visit('/settings/people')
  const [, owner = ''] = /\/settings\/people\/(usr_\w+)"[^>]*>(?:<[^>]+>)*Ana/.exec(html) ?? []
  const last = await browser.visit(`/settings/people/${owner}`)
  t.equal((await browser.submit(last, 'disable')).status, 409)
})

t.test('sessions are seen, and ended', async (t) => {
  const other = await signedIn(postern)
  const page = await browser.visit('/settings/sessions')
  t.match(page.html, 'this very session')
  const ids = [
    ...page.html.matchAll(/name="id" value="(ses_\w+)"\/?><input[^>]*name="current"( value="1")?/g),
  ]
  const id = ids.find(([, , current]) => current === undefined)?.[1] ?? ''
  t.match((await browser.send(page, 'end', {}, { id })).html, 'That session has ended.')
  t.equal((await other.request('GET', '/keys')).status, 303)
})

t.test('the audit says who did what, in sentences, and is exported', async (t) => {
  await postern.key('--name', 'for the audit')
  const { html } = await browser.visit('/settings/audit?action=api_key')
  t.match(html, 'made the API key')
  t.match(html, 'for the audit')
  t.notMatch(html, 'made the person')
  const people = await browser.visit('/settings/audit?action=invitation')
  t.match(people.html, / invited /)
  const file = await browser.request('GET', '/settings/audit/export?action=api_key&format=ndjson')
  t.match(file.headers.get('content-disposition'), 'attachment')
  const entries = file.html.trim().split('\n')
  t.equal(JSON.parse(entries[0] ?? '').action, 'api_key.created')
  const table = await browser.request('GET', '/settings/audit/export?action=api_key&format=csv')
  t.match(table.html, /^created_at \(UTC\),action,actor\.kind,.*\r\n[^,]+,api_key\.created,/)
  t.match(
    html,
    /href="\/settings\/audit\/export\?action=api_key&amp;format=csv"/,
    'with what the list is filtered by',
  )
})
