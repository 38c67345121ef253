/** Workspaces by hand: made, changed, suspended with a reason, deleted by their name. */
import t from 'tap'
import { signedIn } from '../../parts/browser.js'
import { Postern } from '../../parts/postern.js'

t.test('a workspace and its life', async (t) => {
  const postern = await new Postern().start()
  t.teardown(() => postern.remove())
  const browser = await signedIn(postern)
  t.match(
    (await browser.visit('/workspaces')).html,
    '<bdi>Default</bdi> sends nothing.',
    'without an upstream',
  )
  await postern.route('smtp://127.0.0.1:1?tls=none')
  t.match((await browser.visit('/workspaces')).html, 'One workspace, no alarm.')

  const form = await browser.visit('/workspaces/new')
  const wrong = await browser.submit(form, 'create', { name: 'Shop', slug: 'Not a slug' })
  t.match(wrong.html, /id="create-slug-wrong"/)
  const half = await browser.submit(form, 'create', { name: 'Shop', mailbox_full_days: 'x' })
  t.match(half.html, /id="create-mailbox_full_bounces-wrong"/, 'days without a count are not dropped')
  t.match(half.html, /id="create-mailbox_full_days-wrong"/)
  const made = await browser.send(form, 'create', { name: 'Shop EU', line_endings: 'normalize' })
  t.match(made.html, '<h1><bdi>Shop EU</bdi> sends.')

  const edit = await browser.visit('/workspaces/shop-eu/edit')
  const changed = await browser.send(edit, 'change', {
    default_from: 'Shop <a@shop.test>',
    restrict_senders: 'on',
    complaints_rate: '0.5',
    deferrals_off: 'on',
    statistics: 'kind, plan',
    mailbox_full_bounces: '8',
    mailbox_full_days: '30',
  })
  t.match(changed.html, 'Shop &lt;a@shop.test>')
  t.match(changed.html, 'mailbox full: 8 over 30 days')
  t.match(changed.html, 'only its verified domains')
  const row = await postern.json('workspace', 'show', 'shop-eu')
  t.match(row, {
    line_endings: 'normalize',
    restrict_senders: true,
    alarms: { complaints: { rate: 0.005, at_least: 5 }, deferrals: 'off' },
    statistics: { tags: ['kind', 'plan'] },
    suppress_soft: { mailbox_full: { bounces: 8, days: 30 } },
  })

  await postern.json('workspace', 'update', 'shop-eu', '--route', 'example.com=default')
  const routed = await browser.visit('/workspaces/shop-eu')
  t.match(routed.html, /example\.com: <a href="\/pools\/pool_\w+">default<\/a>/, 'a pool by its name')
  t.match(routed.html, /History.*changed the workspace/s)

  const key = (await postern.json('key', 'create', '--workspace', 'shop-eu')).secret as string
  const suspended = await browser.send(changed, 'suspend', { reason: 'too many complaints' })
  t.match(suspended.html, 'Shop EU is suspended')
  t.match(suspended.html, 'too many complaints')
  const send = () => postern.api('POST', '/v1/emails', key, { to: 'a@b.test', text: 'x' })
  t.equal((await send()).body.code, 'workspace.suspended')
  const told = await postern.api('GET', '/v1/workspaces/shop-eu', key)
  t.match(told.body, { suspended: true, suspended_reason: null }, 'why is not told to its own keys')
  const resumed = await browser.send(suspended, 'resume')
  t.match(resumed.html, 'Shop EU sends again.')

  const held = await browser.send(resumed, 'hold', { reason: 'its key leaked' })
  t.match(held.html, 'Shop EU is held: 0 recipients wait.')
  t.match(held.html, /Its mail is held.*<bdi>its key leaked<\/bdi>/s)
  t.match(held.html, /href="\/queue\/release\?hold=/)

  t.match((await browser.submit(resumed, 'delete', { confirm: 'shop' })).html, 'must be the slug')
  const gone = await browser.send(resumed, 'delete', { confirm: 'shop-eu' })
  t.match(gone.html, 'One workspace, no alarm.')
  t.equal((await send()).status, 401)
})
