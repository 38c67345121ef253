/** What /v1 refuses of a form: what was typed is kept, and the mistake stands beside its field. */
import t from 'tap'
import { signedIn } from '../parts/browser.js'
import { Postern } from '../parts/postern.js'

t.test('forms that are refused', async (t) => {
  const postern = await new Postern().start()
  t.teardown(() => postern.remove())
  const browser = await signedIn(postern)
  const at = async (path: string, action: string, fields: Record<string, string | string[]>) =>
    browser.submit(await browser.visit(path), action, fields)

  await t.test('what is no number is not taken as nothing', async (t) => {
    const key = await at('/keys/new', 'create', { name: 'shop', rate_limit_per_minute: '10/s' })
    t.match(key, { status: 422, html: /value="10\/s"[^>]*aria-invalid/ })
    const pool = await at('/pools/new', 'create', { name: 'eu', host: '127.0.0.1', port: '9', rate: 'ten' })
    t.match(pool.html, /id="create-rate-wrong">[^<]*must be a number/)
    t.match(pool.html, /<details class="fold" open><summary>Share, limits/, 'and is in sight')
    const workspace = await at('/workspaces/new', 'create', { name: 'Shop', complaints_rate: '1,5' })
    t.match(workspace.html, /id="create-complaints_rate-wrong">[^<]*must be a number/)
    t.match(workspace.html, /value="1,5"/)
    const days = { mailbox_full_bounces: '3', mailbox_full_days: 'x' }
    const soft = await at('/workspaces/new', 'create', { name: 'Shop', ...days })
    t.match(soft.html, /id="create-mailbox_full_days-wrong">/)
  })

  await t.test('mistakes inside of lists and members stand beside their field', async (t) => {
    const rates = await at('/workspaces/new', 'create', { name: 'Shop', deferrals_rate: '200' })
    t.match(rates.html, /id="create-deferrals_rate-wrong">/)
    t.notMatch(rates.html, /id="create-complaints_rate-wrong">/)
    const hook = { endpoint: 'https://hooks.shop.example/mail', domains: 'shop.example\nno domain' }
    t.match((await at('/webhooks/new', 'create', hook)).html, /id="create-domains-wrong">/)
    const tags = { endpoint: 'https://hooks.shop.example/mail', tags: 'x'.repeat(300) }
    t.match((await at('/webhooks/new', 'create', tags)).html, /id="create-tags-wrong">/)
    const headers = { endpoint: 'https://hooks.shop.example/mail', headers: 'no colon' }
    t.match((await at('/webhooks/new', 'create', headers)).html, /id="create-headers-wrong">/)
  })

  await t.test('each mistake is shown, also where no field is that has it', async (t) => {
    const hook = { endpoint: 'https://hooks.shop.example/mail' }
    const forged = await at('/webhooks/new', 'create', { ...hook, events: 'email.nope' })
    t.match(forged, { status: 422, html: /id="create-events-wrong">[^<]*email\.nope[^<]* is no type/ })
    t.equal(forged.html.split('id="create-events-wrong"').length, 2, 'once')
    const both = await at('/webhooks/new', 'create', { ...hook, events: ['email.nope', 'email.neither'] })
    t.match(both.html, /id="create-events-wrong">[^<]*email\.nope[^<]*email\.neither/, 'two of one field')
    const bare = await browser.visit('/webhooks/new')
    const hidden = await browser.submit(bare, 'create', { ...hook, events: [], mode: 'maybe' })
    t.match(hidden.html, /id="create-mode-wrong">/)
    t.match(hidden.html, /role="alert"><p>[^<]*events/, 'no box was ticked')
  })

  await t.test('a choice that is not offered is refused', async (t) => {
    const key = await at('/keys/new', 'create', { name: 'shop', expires_at: 'soon' })
    t.match(key, { status: 422, html: /id="create-expires_at-wrong">/ })
  })

  await t.test('a form that is gone meanwhile still says why it was refused', async (t) => {
    const { body } = await postern.api('POST', '/v1/emails', await postern.key(), {
      ...{ from: 'a@shop.example', to: 'b@example.com', text: 'x' },
      scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
    })
    const seen = await browser.visit(`/emails/${body.id}`)
    await browser.send(seen, 'cancel')
    const again = await browser.submit(seen, 'reschedule', { scheduled_at: body.scheduled_at })
    t.match(again, { status: 409, html: /<div class="note bad" role="alert"><p>/ })
  })
})
