/** Whose a report is: lists, renames and forwards, with the client's own name for the recipient and without. */
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { observed } from '../../src/lifecycle/facts.js'
import { makeRef } from '../../src/mail/return-path.js'
import { recordReport } from '../../src/outcome/report.js'
import { poolRow, upstreamRow } from '../relay/parts.js'
import { accept, newEmail, openStore, WORKSPACE } from '../relay/store-parts.js'
import { dsn, type Group, HARD } from './mails.js'
import { DOMAIN, eventsOf, keys, setUp, statuses } from './parts.js'

t.test('a report at a return path is about its recipient, whomever it names', async (t) => {
  const touched = async (t: Test, groups: readonly Group[]): Promise<string[]> => {
    const { store, path, mail, record } = await setUp(t)
    await record(path, dsn({ groups }))
    const listed = await store.suppression(WORKSPACE, 'a@example.com')
    return [...(await statuses(store, mail)), ...(listed === null ? [] : ['suppressed'])]
  }
  const b = { final: 'b@example.com', ...HARD }
  const fine = { final: 'a@example.com', action: 'delivered', status: '2.0.0' }
  const member = (n: number) => ({ final: `member${n}@else.test` })
  for (const [title, groups, expected] of [
    ['somebody else of ours: a forward', [b], ['bounced', 'sent']],
    ['the same by ORCPT', [{ ...b, original: 'b@example.com' }], ['bounced', 'sent']],
    ['strangers', [{ final: 'x@else.test', original: 'y@else.test', ...HARD }], ['bounced', 'sent']],
    ['one failure is a failure', [b, fine], ['bounced', 'sent']],
    ['in any order', [fine, b], ['bounced', 'sent']],
    ['two of three members', [1, 2].map((n) => ({ ...member(n), ...HARD })), ['bounced', 'sent']],
    [
      'two fates',
      [
        { ...member(1), ...HARD },
        { ...fine, ...member(2) },
      ],
      ['bounced', 'sent'],
    ],
    ['a far rename', [{ original: 'A@Example.com', ...member(1), ...fine }], ['delivered', 'sent']],
    ['itself beside others', [b, { final: 'A@example.com', ...HARD }], ['bounced', 'sent', 'suppressed']],
  ] as const)
    t.same(await touched(t, groups), expected, title)
})

t.test('groups that tell the same are one, and the last of thousands is read', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const fine = Array.from({ length: 3_000 }, (_, n) => ({
    final: `member${n}@else.test`,
    action: 'delivered',
    status: '2.0.0',
  }))
  const dead = { final: 'a@example.com', ...HARD }
  t.match(await record(path, dsn({ groups: [...fine, dead, dead] })), { status: 'bounced', suppressed: true })
  const told = (await eventsOf(store, mail)).filter(({ source }) => source === 'dsn')
  t.same(
    told.map(({ type }) => type),
    ['email.bounced', 'email.delivered'],
  )
})

t.test('a report that was made to fill a timeline fills it with its worst', async (t) => {
  const { store, mail, path, record } = await setUp(t)
  const many = Array.from({ length: 400 }, (_, n) => ({
    ...{ final: `member${n}@else.test`, action: 'delivered' },
    status: `2.${n % 8}.${n}`,
  }))
  t.match(await record(path, dsn({ groups: [...many, { final: 'x@else.test', ...HARD }] })), {
    status: 'bounced',
    suppressed: false,
  })
  const page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 } as const
  const { rows } = await store.events(mail.id, page)
  t.equal(rows.filter(({ source }) => source === 'dsn').length, 50)
})

t.test('the original recipient may be the one that the client gave', async (t) => {
  const store = await openStore(t, [poolRow([upstreamRow(25)], { returnPath: 'fixed' })])
  const named = (address: string) => ({ final: `${address}@far.test`, original: `${address}@web.test` })
  const setUpMail = async () => {
    const mail = newEmail('pool_test', ['one@corp.test', 'two@corp.test'])
    const recipients = mail.recipients.map((one, at) => ({
      ...one,
      dsn: { notify: null, orcpt: `rfc822;root+2B${at}@web.test` },
    }))
    await accept(store, { ...mail, recipients })
    await store.settle(
      mail.recipients.map(({ id }) =>
        observed({ recipientId: id, seen: 'accepted', at: Date.now(), source: 'smtp' }),
      ),
    )
    const [{ id = '', address = '' } = {}] = mail.recipients
    const subject = { recipientId: id, workspaceId: WORKSPACE, address }
    const parts = { store, keys, clock: systemClock, domain: DOMAIN }
    return {
      mail,
      record: (groups: readonly Group[]) =>
        recordReport(parts, 'bounces@bounces.test', dsn({ groups, envid: makeRef(keys, 'envid', subject) })),
    }
  }
  const first = await setUpMail()
  await first.record([{ ...named('root+1'), ...HARD }])
  t.same(await statuses(store, first.mail), ['sent', 'bounced'], 'a far rename')
  t.equal(await store.suppression(WORKSPACE, 'two@corp.test'), null, 'somebody else is dead')
  const second = await setUpMail()
  await second.record([{ final: 'two@corp.test', original: 'root+1@web.test', ...HARD }])
  t.same(await statuses(store, second.mail), ['sent', 'bounced'])
  t.match(
    await store.suppression(WORKSPACE, 'two@corp.test'),
    { origin: 'bounce' },
    'it is itself that is dead',
  )
  const third = await setUpMail()
  await third.record([{ ...named('root+7'), ...HARD }])
  t.same(await statuses(store, third.mail), ['sent', 'sent'], 'one of the two, but which?')
})

t.test('without the return path, groups are ours by name, or when there is no choice', async (t) => {
  const touched = async (t: Test, groups: readonly Group[]): Promise<string> => {
    const { store, mail, envid, record } = await setUp(t)
    t.match(await record('postmaster@bounces.test', dsn({ groups, envid })), {
      tier: 'T2',
      suppressed: false,
    })
    return (await statuses(store, mail)).join()
  }
  const dead = { final: 'b@example.com', ...HARD }
  const stranger = { final: 'x@else.test', action: 'delivered', status: '2.0.0' }
  t.equal(await touched(t, [dead]), 'bounced,sent', 'the only one')
  t.equal(await touched(t, [dead, { ...stranger, final: 'a@example.com' }]), 'delivered,sent', 'by name')
  t.equal(
    await touched(t, [{ ...dead, original: 'a@example.com' }, stranger]),
    'bounced,sent',
    'by its original',
  )
  t.equal(await touched(t, [dead, { ...dead, final: 'c@else.test' }]), 'bounced,sent', 'all agree')
  t.equal(await touched(t, [dead, stranger]), 'sent,sent', 'they do not')
})
