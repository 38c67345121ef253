/** Reports through the real reader and the real store. */
import t from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { observed } from '../../src/lifecycle/facts.js'
import { makeRef, makeReturnPath } from '../../src/mail/return-path.js'
import { createIntake, readKept, recordReport } from '../../src/outcome/report.js'
import { accept, newEmail, WORKSPACE } from '../relay/store-parts.js'
import { arf, dsn, type Group, HARD } from './mails.js'
import { DOMAIN, eventsOf, keys, setUp, statuses } from './parts.js'

t.test('each action, at a signed return path', async (t) => {
  for (const [action, status, expected] of [
    ['delivered', '2.0.0', 'delivered'],
    ['relayed', '2.0.0', 'delivered'],
    ['expanded', '2.0.0', 'delivered'],
    ['delayed', '4.4.1', 'deferred'],
    ['failed', '5.2.2', 'bounced'],
  ] as const) {
    const { store, mail, path, record } = await setUp(t)
    const said = await record(path, dsn({ groups: [{ final: 'a@example.com', action, status }] }))
    t.match(said, { tier: 'T1', status: expected, recipientId: mail.recipients[0]?.id, suppressed: false })
    t.same((await statuses(store, mail)).sort(), [expected, 'sent'].sort())
  }
})

t.test('a hard bounce bounces and suppresses; again, it does nothing', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const raw = dsn({ groups: [{ final: 'a@example.com', ...HARD }] })
  t.match(await record(path.toUpperCase(), raw), { tier: 'T1', status: 'bounced', suppressed: true })
  t.match(await store.suppression(WORKSPACE, 'a@example.com'), { origin: 'bounce', sourceId: mail.id })
  const before = (await eventsOf(store, mail)).length
  await store.removeSuppression(WORKSPACE, 'a@example.com')
  t.match(await record(path, raw), { status: null, suppressed: false })
  t.equal((await eventsOf(store, mail)).length, before)
  t.equal(await store.suppression(WORKSPACE, 'a@example.com'), null)
  const [event] = (await eventsOf(store, mail)).filter(({ source }) => source === 'dsn')
  t.match(event, { type: 'email.bounced', applied: true, reply: { code: 550, enhanced: '5.1.1' } })
  t.match(event?.detail, { diagnostic: /no such user/, action: 'failed' })
})

t.test('test mail never suppresses', async (t) => {
  const { store } = await setUp(t)
  const mail = newEmail('pool_test', ['t@example.com'], { mode: 'test' })
  await accept(store, mail)
  const [{ id = '' } = {}] = mail.recipients
  await store.settle([observed({ recipientId: id, seen: 'accepted', at: Date.now(), source: 'smtp' })])
  const path = makeReturnPath(keys, 'bounces.test', {
    recipientId: id,
    workspaceId: WORKSPACE,
    address: 't@example.com',
  })
  const raw = dsn({ groups: [{ final: 't@example.com', ...HARD }] })
  const said = await recordReport({ store, keys, clock: systemClock, domain: DOMAIN }, path, raw)
  t.match(said, { status: 'bounced', suppressed: false })
  t.equal(await store.suppression(WORKSPACE, 't@example.com'), null)
  t.match(await recordReport({ store, keys, clock: systemClock, domain: DOMAIN }, path, arf('abuse')), {
    kind: 'arf',
    suppressed: false,
  })
  t.equal(await store.suppression(WORKSPACE, 't@example.com'), null)
  const events = (await eventsOf(store, mail)).filter(({ source }) => source === 'dsn' || source === 'arf')
  t.same(
    events.map(({ source, detail }) => [source, detail?.suppression]),
    [
      ['arf', 'test_mode'],
      ['dsn', 'test_mode'],
    ],
    'the timeline tells of both',
  )
})

t.test('signed references inside count too', async (t) => {
  for (const how of ['envid', 'ref'] as const) {
    const { store, mail, record, ...tokens } = await setUp(t)
    const group = { final: 'a@example.com', ...HARD }
    const raw =
      how === 'envid'
        ? dsn({ groups: [group], envid: tokens.envid })
        : dsn({ groups: [group], returned: `X-Postern-Ref: ${tokens.ref}\r\nSubject: hello` })
    t.match(await record('postmaster@bounces.test', raw), { tier: 'T2', status: 'bounced', suppressed: true })
    t.ok((await statuses(store, mail)).includes('bounced'))
  }
})

t.test('what is not signed changes nothing', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const group = { final: 'a@example.com', ...HARD }
  const forged = path.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))
  t.match(await record(forged, dsn({ groups: [group] })), { tier: 'T4', status: null })
  t.match(await record('x@bounces.test', dsn({ groups: [group], envid: 'e1forged' })), { tier: 'T4' })
  const byId = dsn({ groups: [group], returned: `Message-ID: ${mail.messageId}` })
  t.match(await record('x@bounces.test', byId), { tier: 'T3', status: null, suppressed: false })
  t.same(await statuses(store, mail), ['sent', 'sent'])
  t.equal(await store.suppression(WORKSPACE, 'a@example.com'), null)
  const events = (await eventsOf(store, mail)).filter(({ source }) => source === 'dsn')
  t.match(events, [{ type: 'email.bounced', applied: false, recipientId: mail.recipients[0]?.id }])
})

t.test('what a token brings home always leaves an event, and says why it changed nothing', async (t) => {
  const odd = { final: 'a@example.com', action: 'pondered', status: '5.1.1' }
  const { store, mail, path, record } = await setUp(t)
  t.match(await record(path, dsn({ groups: [odd] })), { tier: 'T1', status: null, suppressed: false })
  t.same(await statuses(store, mail), ['sent', 'sent'])
  const told = (await eventsOf(store, mail)).filter(({ source }) => source === 'dsn')
  t.match(told, [
    {
      type: 'email.reported',
      applied: false,
      recipientId: mail.recipients[0]?.id,
      detail: { unapplied: 'unknown_action', tier: 'T1', action: 'pondered' },
    },
  ])
})

t.test('a report that does not say what happened is an event, too', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const cut = dsn({ groups: [{ final: 'a@example.com', ...HARD }] }).toString()
  for (const [end, unapplied] of [
    ['Reporting-MTA', 'unclear'],
    ['Action:', 'unknown_action'],
  ] as const) {
    const raw = cut.slice(0, cut.indexOf(end)).replace('dsn-1@', `${unapplied}@`)
    t.match(await record(path, Buffer.from(raw)), { tier: 'T1', status: null, did: 'noted' })
    t.same(await statuses(store, mail), ['sent', 'sent'])
    t.match((await eventsOf(store, mail))[0], {
      type: 'email.reported',
      applied: false,
      detail: { unapplied },
    })
  }
})

t.test('who was expanded to several fails with the first of them; the timeline names it', async (t) => {
  const list = 'a@example.com'
  const dead = { original: list, final: 'dead@else.test', ...HARD }
  const fine = { original: list, final: 'alive@else.test', action: 'delivered', status: '2.0.0' }
  for (const reports of [[[dead, fine]], [[fine, dead]], [[dead], [fine]], [[fine], [dead]]]) {
    const { store, mail, path, record } = await setUp(t)
    for (const [n, groups] of reports.entries()) await record(path, dsn({ id: `<${n}@mx.test>`, groups }))
    t.same(await statuses(store, mail), ['bounced', 'sent'], 'in one report or in two, in any order')
    t.equal(await store.suppression(WORKSPACE, list), null)
    const told = (await eventsOf(store, mail)).filter(
      ({ type, source }) => `${source} ${type}` === 'dsn email.bounced',
    )
    t.match(told, [{ detail: { final_recipient: 'dead@else.test', suppression: 'other_address' } }])
  }
})

t.test('the address that a report came to names the recipient, where the report names nobody', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const raw = [
    'From: MAILER-DAEMON@mx.test',
    'Subject: Undelivered Mail Returned to Sender',
    'Message-ID: <bare@mx.test>',
    '',
    'Your message could not be delivered.',
    '',
    '550 5.1.1 no such user here',
    '',
  ].join('\r\n')
  t.match(await record(path, Buffer.from(raw)), { status: 'bounced', suppressed: true })
  t.same(await statuses(store, mail), ['bounced', 'sent'])
})

t.test(
  'a report that nobody vouched for does not keep the same one from coming by a better way',
  async (t) => {
    const { store, mail, path, record } = await setUp(t)
    const raw = dsn({
      groups: [{ final: 'a@example.com', ...HARD }],
      returned: `Message-ID: ${mail.messageId}`,
    })
    t.match(await record('postmaster@bounces.test', raw), { tier: 'T3', status: null })
    t.match(await record(path, raw), { tier: 'T1', status: 'bounced' })
    t.same(await statuses(store, mail), ['bounced', 'sent'])
  },
)

t.test('a token counts at our own domain only, unless a forwarder has wrapped it', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const raw = dsn({ groups: [{ final: 'a@example.com', ...HARD }] })
  const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
  const [local = ''] = path.split('@')
  for (const [address, known] of [
    [`${local}@bounces.test`, true],
    [`${local}@BOUNCES.test.`, true],
    [`${local}@elsewhere.test`, false],
    [local, false],
    [`SRS0=ab=cd=bounces.test=${local}@forwarder.test`, true],
    [`prvs=0123456789=${local}@bounces.test`, true],
    ['bounces@bounces.test', false],
  ] as const)
    t.equal(await intake.verifyRecipient(address), known, address)
  t.match(await record(`${local}@elsewhere.test`, raw), { tier: 'T4', status: null })
  t.same(await statuses(store, mail), ['sent', 'sent'])
})

t.test('reports about erased mail are taken, and change nothing', async (t) => {
  const { store, path } = await setUp(t)
  // as the contract of the store has it (contract-workspaces)
  const erased = {
    ...store,
    recipient: async (id: string) => {
      const owner = await store.recipient(id)
      return owner && { ...owner, isDeleted: true, address: '' }
    },
  }
  const intake = createIntake({ store: erased, keys, clock: systemClock, domain: DOMAIN })
  t.equal(await intake.verifyRecipient(path), true)
  const raw = dsn({ groups: [{ final: 'a@example.com', ...HARD }] })
  t.match(await intake.ingest(path, raw), { tier: 'T4', did: 'nothing', recipientId: null })
})

t.test('the fixed return path is open while a pool uses it, and asks for a signature inside', async (t) => {
  const { store, mail, ref, envid, record } = await setUp(t, { returnPath: 'fixed' })
  const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
  t.ok(await intake.verifyRecipient('Bounces@bounces.test'))
  t.notOk(await intake.verifyRecipient('bounces@elsewhere.test'))
  const fixed = 'bounces@bounces.test'
  const group = { final: 'a@example.com', ...HARD }
  t.match(await record(fixed, dsn({ groups: [group] })), { tier: 'T4', status: null })
  const other = makeRef(keys, 'ref', {
    recipientId: mail.recipients[1]?.id ?? '',
    workspaceId: WORKSPACE,
    address: 'b@example.com',
  })
  const both = `X-Postern-Ref: ${ref}\r\nX-Postern-Ref: ${other}`
  const fate = { original: 'b@example.com', final: 'b@example.com', action: 'delivered', status: '2.0.0' }
  await record(fixed, dsn({ id: '<2@mx.test>', groups: [fate], envid, returned: both }))
  t.same(await statuses(store, mail), ['sent', 'delivered'], 'about the one that it names')
  await record(fixed, dsn({ id: '<3@mx.test>', groups: [group, fate], envid, returned: both }))
  t.same(await statuses(store, mail), ['bounced', 'delivered'])
  const before = (await eventsOf(store, mail)).length
  await record(
    fixed,
    dsn({
      id: '<4@mx.test>',
      groups: [{ ...fate, original: 'c@else.test', final: 'c@else.test' }],
      returned: both,
    }),
  )
  t.same(await statuses(store, mail), ['bounced', 'delivered'])
  t.equal((await eventsOf(store, mail)).length, before + 1, 'and about a stranger there is an event')
})

t.test('recipients that shared a transaction share its ENVID', async (t) => {
  const fate = { original: 'b@example.com', final: 'b@example.com', action: 'delivered', status: '2.0.0' }
  const shared = await setUp(t, { returnPath: 'fixed' })
  await shared.record('bounces@bounces.test', dsn({ groups: [fate], envid: shared.envid }))
  t.same(await statuses(shared.store, shared.mail), ['sent', 'delivered'], 'it names the second')
  const stranger = { ...fate, original: 'c@else.test', final: 'c@else.test', ...HARD }
  await shared.record(
    'bounces@bounces.test',
    dsn({ id: '<2@mx.test>', groups: [stranger], envid: shared.envid }),
  )
  t.same(await statuses(shared.store, shared.mail), ['sent', 'delivered'])
})

t.test('relayed may mean sent', async (t) => {
  const { store, mail, path, record } = await setUp(t, { relayedMeans: 'sent' })
  await record(path, dsn({ groups: [{ final: 'a@example.com', action: 'relayed', status: '2.0.0' }] }))
  t.same(await statuses(store, mail), ['sent', 'sent'])
})

t.test('what comes to a return path and is no report is an event, and kept as it came', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const before = (await eventsOf(store, mail)).length
  const lunch = 'Subject: lunch?\r\n\r\nAt noon.\r\n'
  const away = 'Subject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nBack on Monday.\r\n'
  t.match(await record('x@bounces.test', Buffer.from(lunch)), { tier: 'T4', did: 'nothing' })
  t.equal((await eventsOf(store, mail)).length, before, 'elsewhere it is nothing')
  for (const [text, kind, reason] of [
    [lunch, 'none', 'unread'],
    [away, 'autoreply', 'auto_reply'],
    ['', 'none', 'unread'],
  ] as const) {
    t.match(await record(path, Buffer.from(text)), { kind, tier: 'T1', status: null, did: 'noted' })
    const [event] = await eventsOf(store, mail)
    t.match(event, { type: 'email.reported', applied: false, reason, detail: { unapplied: reason } })
    if (event === undefined) return
    t.equal((await readKept(store, mail.id, event)).toString(), text)
  }
  t.equal((await eventsOf(store, mail)).length, before + 3)
  await record(path, Buffer.from(lunch))
  t.equal((await eventsOf(store, mail)).length, before + 3, 'twice is once')
  t.same(await statuses(store, mail), ['sent', 'sent'])
})

t.test('each event of a report has it, the first 64 KiB', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const fine = { final: 'a@example.com', action: 'delivered', status: '2.0.0' }
  const raw = dsn({
    groups: [fine, { final: 'a@example.com', ...HARD }],
    returned: 'X: y\r\n'.repeat(20_000),
  })
  await record(path, raw)
  const told = (await eventsOf(store, mail)).filter(({ source }) => source === 'dsn')
  t.equal(told.length, 2)
  for (const event of told) t.ok((await readKept(store, mail.id, event)).equals(raw.subarray(0, 65_536)))
  const [first] = (await eventsOf(store, mail)).filter(({ source }) => source !== 'dsn')
  if (first === undefined) return
  await t.rejects(readKept(store, mail.id, first), { code: 'resource.conflict' })
})

t.test('a dead member of a living list buries nobody else', async (t) => {
  const list = 'a@example.com'
  const cases: readonly (readonly [string, readonly Group[]])[] = [
    [
      'one of several that it was expanded to',
      [
        { original: list, final: 'dead@else.test', ...HARD },
        { original: list, final: 'alive@else.test', action: 'delivered', status: '2.0.0' },
      ],
    ],
    ['the only one that is reported', [{ original: list, final: 'dead@else.test', ...HARD }]],
    ['a forward', [{ final: 'dead@else.test', ...HARD }]],
  ]
  for (const [title, groups] of cases) {
    const { store, mail, path, record } = await setUp(t)
    t.match(await record(path, dsn({ groups })), { status: 'bounced', suppressed: false }, title)
    t.equal(await store.suppression(WORKSPACE, list), null, title)
    const told = (await eventsOf(store, mail)).filter(({ detail }) => detail?.suppression === 'other_address')
    t.equal(told.length, 1, 'the timeline says why')
  }
  const { store, path, record } = await setUp(t)
  const own = { original: list, final: 'A@Example.COM', ...HARD }
  t.match(await record(path, dsn({ groups: [own] })), { suppressed: true }, 'the address itself')
  t.match(await store.suppression(WORKSPACE, list), { origin: 'bounce' })
})

t.test('a report overtakes our own 250, but not the mail', async (t) => {
  const { store, record } = await setUp(t)
  const mail = newEmail('pool_test', ['q@example.com'], { createdAt: Date.now() })
  await accept(store, mail)
  const [{ id = '' } = {}] = mail.recipients
  const path = makeReturnPath(keys, 'bounces.test', {
    recipientId: id,
    workspaceId: WORKSPACE,
    address: 'q@example.com',
  })
  const failed = (n: number) => dsn({ id: `<${n}@mx.test>`, groups: [{ final: 'q@example.com', ...HARD }] })
  t.match(await record(path, failed(1)), { tier: 'T1', status: null, suppressed: false })
  t.same(await statuses(store, mail), ['queued'], 'nothing has left yet')
  t.match(await record(path, arf('abuse')), { suppressed: false })
  t.equal(await store.suppression(WORKSPACE, 'q@example.com'), null)
  const [, event] = await eventsOf(store, mail)
  t.match(event, { type: 'email.bounced', applied: false, detail: { unapplied: 'never_sent' } })

  const [claimed] = await store.claim('pool_test', 10, Date.now() + 60_000, Date.now())
  if (claimed === undefined) throw new Error('nothing is due')
  const lease = { recipientId: id, leaseGen: claimed.leaseGen }
  await store.attempting([{ ...lease, attempt: 1, upstreamId: 'up_1', at: Date.now() }])
  t.match(await record(path, failed(2)), { status: 'bounced', suppressed: true })
  await store.settle([observed({ ...lease, seen: 'accepted', attempt: 1, at: Date.now(), source: 'smtp' })])
  t.same(await statuses(store, mail), ['bounced'], 'our 250 comes late and lowers nothing')
})

t.test('who never hears again of a delayed mail has a deadline of our own', async (t) => {
  const { store, mail, path } = await setUp(t)
  const now = Date.now()
  const lifetime = 3_600_000
  const parts = { store, keys, clock: systemClock, domain: DOMAIN, lifetime }
  const delayed = { final: 'a@example.com', action: 'delayed', status: '4.4.1' }
  t.match(await recordReport(parts, path, dsn({ groups: [delayed] })), { status: 'deferred' })
  const keep = { bodiesMs: 1e12, emailsMs: 1e12 }
  await store.sweep(now + lifetime, keep)
  t.same((await statuses(store, mail)).sort(), ['deferred', 'sent'], 'the margin is not over')
  await store.sweep(now + lifetime + 86_400_000 + 60_000, keep)
  t.same((await statuses(store, mail)).sort(), ['bounced', 'sent'])
  const [event] = await eventsOf(store, mail)
  t.match(event, {
    type: 'email.bounced',
    source: 'system',
    reason: 'lifetime',
    reply: { enhanced: '4.4.7' },
  })
  t.equal(await store.suppression(WORKSPACE, 'a@example.com'), null, 'late is not dead')
})

t.test("a site's own rules decide", async (t) => {
  const { store, path } = await setUp(t)
  const rules = [{ category: 'policy', text: /no such user/ }] as const
  const raw = dsn({ groups: [{ final: 'a@example.com', ...HARD }] })
  t.match(
    await recordReport({ store, keys, clock: systemClock, domain: DOMAIN, rules: () => rules }, path, raw),
    {
      status: 'bounced',
      suppressed: false,
    },
  )
})
