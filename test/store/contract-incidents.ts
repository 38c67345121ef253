/** Addresses that bounce for good at the same time may be good; what is pending suppresses nobody, until somebody decides. */
import type { Test } from 'tap'
import { newId, newRecipientId } from '../../src/base/id.js'
import { type Outcome, observed } from '../../src/lifecycle/facts.js'
import type { Mode } from '../../src/lifecycle/page.js'
import { INCIDENT_STANDS_MS, INCIDENT_WINDOW_MS } from '../../src/lifecycle/suppress.js'
import { saidAlike } from '../../src/outcome/suppress.js'
import type { Store } from '../../src/store/port/store.js'
import type { AddedHardBounce, HardBounce } from '../../src/store/port/watch.js'
import {
  addWorkspace,
  HOUR,
  mailFor,
  newAccount,
  type OpenStore,
  page,
  T0,
  type TestAccount,
  toOne,
} from './fixture.js'

const MINUTE = 60_000
const DAY = 24 * HOUR

interface Scene {
  readonly store: Store
  readonly at: TestAccount
  readonly upstreamId: string
}

const scene = async (store: Store): Promise<Scene> => ({
  store,
  at: await newAccount(store),
  upstreamId: newId('up'),
})

const end = ({ at, upstreamId }: Scene, recipientId: string, seen: Outcome['seen'], when: number): Outcome =>
  observed({
    recipientId,
    seen,
    at: when,
    source: 'smtp',
    mta: { poolId: at.poolId, upstreamId, host: 'mx.test' },
    reply: seen === 'accepted' ? null : { code: 550, enhanced: '5.1.1', text: 'no such user' },
  })

/** One mail to each, and how it ended; the ids of their recipients. */
const mailed = async (
  one: Scene,
  addresses: readonly string[],
  seen: Outcome['seen'],
  when = T0,
  mode: Mode = 'live',
): Promise<readonly string[]> => {
  const recipients = addresses.map((address) => toOne(address))
  const mails = recipients.map((recipient) =>
    mailFor(one.at, { mode, recipients: [recipient], createdAt: when, to: [recipient.address] }),
  )
  await one.store.accept({ mails, idempotency: null, now: when })
  await one.store.settle(recipients.map(({ id }) => end(one, id, seen, when)))
  return recipients.map(({ id }) => id)
}

const names = (n: number, at = 'y.test', from = 0): readonly string[] =>
  Array.from({ length: n }, (_, i) => `user${from + i}@${at}`)

const dead = (one: Scene, email: string, recipientId: string, over: Partial<HardBounce> = {}, now = T0) => ({
  row: {
    id: newId('sup', now),
    accountId: one.at.accountId,
    list: one.at.workspace.id,
    email,
    origin: 'bounce' as const,
    sourceId: null,
    reason: 'unknown_user',
    expiresAt: null,
    createdAt: now,
  },
  recipientId,
  said: 'no such user',
  upstreamId: one.upstreamId,
  ...over,
})

/** Each of them is refused as dead. */
const suppressReported = async (
  one: Scene,
  emails: readonly string[],
  over: Partial<HardBounce> = {},
  now = T0,
): Promise<readonly AddedHardBounce[]> => {
  const ids = await mailed(one, emails, 'rejected', now)
  const made: AddedHardBounce[] = []
  for (const [i, email] of emails.entries())
    made.push(await one.store.addHardBounce(dead(one, email, ids[i] ?? '', over, now)))
  return made
}

const suppressed = async ({ store, at }: Scene, emails: readonly string[], now = T0): Promise<number> =>
  (await store.suppressed(at.workspace.id, emails, now)).length

const openOf = async ({ store, at }: Scene) =>
  (await store.incidents(at.accountId, null, true, page({ limit: 100 }))).rows

const shareTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('unknown users among good mails are all suppressed', async (t) => {
    const one = await scene(store)
    await mailed(one, names(200, 'y.test', 1_000), 'accepted')
    const made = await suppressReported(one, names(60))
    t.ok(made.every(({ as }) => as === 'added'))
    t.equal(await suppressed(one, names(60)), 60)
    t.same(await openOf(one), [])
  })

  await t.test('those that bounce at the same time are pending, with those before', async (t) => {
    const one = await scene(store)
    await mailed(one, names(30, 'y.test', 1_000), 'accepted')
    // what is a test says nothing of the server
    await mailed(one, names(90, 'y.test', 2_000), 'accepted', T0, 'test')
    const made = await suppressReported(one, names(30))
    t.equal(made[18]?.as, 'added')
    t.equal(made[19]?.as, 'pending')
    t.equal(made[19]?.opened.length, 1)
    t.equal(await suppressed(one, names(30)), 0)
    const [incident, ...more] = await openOf(one)
    t.same(more, [])
    t.match(incident, {
      workspaceId: one.at.workspace.id,
      upstreamId: one.upstreamId,
      domain: 'y.test',
      said: 'no such user',
      addresses: 20,
      pending: 30,
    })
    const later = await suppressReported(one, names(1, 'y.test', 500), {}, T0 + DAY)
    t.equal(later[0]?.as, 'pending', 'while it is open')
  })

  await t.test('other domains and servers are other causes', async (t) => {
    const one = await scene(store)
    await mailed(one, names(100, 'x.test'), 'accepted')
    await suppressReported(one, names(15))
    await suppressReported(one, names(15, 'z.test'))
    await suppressReported(one, names(15, 'y.test', 200), { upstreamId: newId('up') })
    t.same(await openOf(one), [])
  })

  await t.test('slow deaths are natural', async (t) => {
    const one = await scene(store)
    for (let n = 0; n < 4; n++) {
      const made = await suppressReported(
        one,
        names(10, 'y.test', n * 10),
        {},
        T0 + n * (INCIDENT_WINDOW_MS + MINUTE),
      )
      t.ok(made.every(({ as }) => as === 'added'))
    }
  })

  await t.test('the same address twice is one', async (t) => {
    const one = await scene(store)
    for (let n = 0; n < 25; n++) {
      await suppressReported(one, ['ana@y.test'], {}, T0 + n)
      await store.removeSuppression(one.at.workspace.id, 'ana@y.test')
    }
    t.same(await openOf(one), [])
  })

  await t.test('workspaces share the server, and decide for themselves', async (t) => {
    const one = await scene(store)
    const other = { ...one, at: await addWorkspace(store, one.at, `other-${newId('ws').slice(-6)}`) }
    await suppressReported(one, names(12))
    const made = await suppressReported(other, names(12, 'y.test', 100))
    t.equal(made.at(-1)?.as, 'pending')
    const open = await openOf(one)
    t.same(open.map(({ workspaceId, pending }) => [workspaceId, pending]).sort(), [
      ...[[one.at.workspace.id, 12] as const, [other.at.workspace.id, 12] as const].sort(),
    ])
    const { id = '' } = open.find(({ workspaceId }) => workspaceId === one.at.workspace.id) ?? {}
    t.equal(await store.decideIncident(one.at.accountId, id, 'accepted', T0), 12)
    t.equal(await suppressed(one, names(12)), 12)
    t.equal(await suppressed(other, names(12, 'y.test', 100)), 0)
  })
}

/** Letters that differ from one to the next, as an id of a mail has. */
const idOf = (n: number): string =>
  Array.from({ length: 12 }, (_, i) => String.fromCharCode(97 + ((n * (i + 7) + i * i) % 26))).join('')

const WORDS = [
  'no such user',
  'unknown user',
  'mailbox not found',
  'the recipient does not exist',
  'account closed',
] as const

/** Each of them is refused, in words of its own. */
const refusedAs = async (
  one: Scene,
  emails: readonly string[],
  said: (n: number) => string,
  by: 'dialogue' | 'report' = 'dialogue',
): Promise<void> => {
  const isReport = by === 'report'
  const ids = await mailed(one, emails, isReport ? 'accepted' : 'rejected', isReport ? T0 - MINUTE : T0)
  for (const [i, email] of emails.entries()) {
    const text = saidAlike(said(i), email)
    const over = { said: text, ...(isReport ? { upstreamId: null } : {}) }
    await one.store.addHardBounce(dead(one, email, ids[i] ?? '', over))
  }
}

const across = (domains: number, each: number): readonly string[] =>
  Array.from({ length: domains }, (_, d) => names(each, `d${d}.test`)).flat()

const outageTests = async (t: Test, store: Store): Promise<void> => {
  const gmail = (n: number): string =>
    `The email account that you tried to reach does not exist. Please try double-checking the address. ${idOf(n)} - gsmtp`
  const scenes: readonly (readonly [
    string,
    readonly string[],
    (n: number) => string,
    'dialogue' | 'report',
  ])[] = [
    ['one domain, one text', names(120), () => 'no such user', 'dialogue'],
    ['reports of one domain, with ids of letters', names(100), gmail, 'report'],
    ['one domain, five phrasings', names(120), (n) => WORDS[n % 5] ?? '', 'dialogue'],
    ['one domain, other words in each', names(120), (n) => `no ${idOf(n)} here`, 'dialogue'],
    [
      'a smarthost that lost its map',
      across(120, 1),
      () => 'User unknown in relay recipient table',
      'dialogue',
    ],
    ['twelve domains, the same text', across(12, 10), () => 'no such user', 'dialogue'],
    ['a provider of many domains, by report', across(80, 1), gmail, 'report'],
    ['an account that a smarthost disabled', across(40, 1), () => 'Account disabled', 'dialogue'],
    ['many domains, many words', across(60, 2), (n) => `${WORDS[n % 5]} ${idOf(n)}`, 'dialogue'],
  ]
  for (const [what, emails, said, by] of scenes)
    await t.test(`an outage: ${what}`, async (t) => {
      const one = await scene(store)
      await refusedAs(one, emails, said, by)
      t.equal(await suppressed(one, emails), 0)
      const waiting = (await openOf(one)).reduce((sum, { pending }) => sum + pending, 0)
      t.equal(waiting, emails.length)
    })

  await t.test('a broken smarthost beside one that works', async (t) => {
    const one = await scene(store)
    await mailed({ ...one, upstreamId: newId('up') }, across(300, 1), 'accepted')
    await mailed(one, across(20, 1), 'accepted')
    await refusedAs(one, across(120, 1), () => 'User unknown')
    t.equal(await suppressed(one, across(120, 1)), 0)
    t.match(await openOf(one), [{ upstreamId: one.upstreamId, domain: '', said: '', pending: 120 }])
  })

  await t.test('a list with dead addresses, of one domain or of many, is suppressed', async (t) => {
    for (const [good, bad] of [
      [names(280, 'y.test', 1_000), names(20)],
      [across(100, 3).slice(20), across(20, 1)],
      // more than once the number at which it is looked at
      [names(900, 'y.test', 1_000), names(150)],
    ] as const) {
      const one = await scene(store)
      await mailed(one, good, 'accepted')
      await refusedAs(one, bad, (n) => WORDS[n % 5] ?? '')
      t.equal(await suppressed(one, bad), bad.length)
      t.same(await openOf(one), [])
    }
  })

  await t.test('what waits for an incident of one domain is no reason for one of all', async (t) => {
    const one = await scene(store)
    await mailed(one, names(60, 'z.test'), 'accepted')
    await suppressReported(one, names(40))
    const [other] = await suppressReported(one, names(1, 'z.test', 500))
    t.equal(other?.as, 'added')
    t.match(await openOf(one), [{ domain: 'y.test', pending: 40 }])
  })
}

const slowTests = async (t: Test, store: Store): Promise<void> => {
  /** Sixty hours of a hundred answers each, of which so many are hard, and then two of three hundred. */
  const history = async (one: Scene, hard: number, now: number): Promise<void> => {
    const hour = Math.floor(now / HOUR) * HOUR
    const spans = Array.from({ length: 60 }, (_, i) => hour - (61 - i) * HOUR)
    const row = (at: number, counts: readonly number[]) => ({
      ...{ span: 60 as const, at, workspaceId: one.at.workspace.id, mode: 'live' as const },
      ...{ dimension: 'upstream' as const, value: one.upstreamId, counts },
    })
    const rows = [
      ...spans.map((at) => row(at, [1, 100 - hard, 5, hard])),
      ...[hour, hour - HOUR].map((at) => row(at, [1, 300])),
    ]
    const { statistics: from } = await store.readPlaces()
    await store.keepRead({ to: newId('up'), statistics: { from, rows } })
    for (const [i, at] of spans.entries())
      for (const email of across(hard, 1))
        await store.addHardBounce(dead(one, `${i}.${email}`, newRecipientId(), {}, at))
  }

  /** Four a minute of twenty. */
  const slowly = async (one: Scene, hours: number, now: number): Promise<readonly string[]> => {
    const met: string[] = []
    for (let n = 0; n < hours * 60; n++) {
      const at = now + n * MINUTE
      await mailed(one, names(4, `fine${n % 40}.test`), 'accepted', at)
      const [email = ''] = names(1, `d${n % 40}.test`, n)
      met.push(email)
      await store.addHardBounce(dead(one, email, newRecipientId(), { said: `${n % 2}` }, at))
    }
    return met
  }

  await t.test('more hard answers in an hour than in the days before', async (t) => {
    const one = await scene(store)
    const now = Math.floor((Date.now() + 30 * DAY) / HOUR) * HOUR
    await history(one, 1, now)
    const met = await slowly(one, 1, now)
    t.equal(await suppressed(one, met, now + HOUR), 0)
    t.match(await openOf(one), [{ upstreamId: one.upstreamId, domain: '', pending: 60 }])
  })

  await t.test('and no more than there always are', async (t) => {
    const one = await scene(store)
    const now = Math.floor((Date.now() + 30 * DAY) / HOUR) * HOUR
    await history(one, 8, now)
    const met = await slowly(one, 1, now)
    t.equal(await suppressed(one, met, now + HOUR), 60)
    t.same(await openOf(one), [])
  })
}

const livingTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('ten who took mail before, whatever their share', async (t) => {
    const one = await scene(store)
    const now = Date.now() + 2 * DAY
    await mailed(one, names(12), 'accepted', now - 2 * DAY)
    await mailed(one, names(300, 'y.test', 1_000), 'accepted', now)
    const made = await suppressReported(one, names(12), {}, now)
    t.same(
      made.map(({ as }) => as),
      [...new Array(9).fill('added'), ...new Array(3).fill('pending')],
    )
    t.match(await openOf(one), [{ addresses: 10, living: 10, pending: 12 }])
  })

  await t.test('mail that was taken a moment ago proves no life', async (t) => {
    const one = await scene(store)
    const now = Date.now()
    await mailed(one, names(12), 'accepted', now)
    await mailed(one, names(300, 'y.test', 1_000), 'accepted', now)
    t.ok((await suppressReported(one, names(12), {}, now)).every(({ as }) => as === 'added'))
  })
}

const reportTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('late reports are measured against the time of their mail', async (t) => {
    const one = await scene(store)
    await mailed(one, names(200, 'y.test', 1_000), 'accepted', T0 - 3 * HOUR)
    const ids = await mailed(one, names(40), 'accepted', T0 - 3 * HOUR)
    for (const [i, email] of names(40).entries())
      t.equal((await store.addHardBounce(dead(one, email, ids[i] ?? '', { upstreamId: null }))).as, 'added')
    t.same(await openOf(one), [])
  })

  await t.test('and name whoever took it', async (t) => {
    const one = await scene(store)
    const ids = await mailed(one, names(20), 'accepted', T0 - MINUTE)
    for (const [i, email] of names(20).entries())
      await store.addHardBounce(dead(one, email, ids[i] ?? '', { upstreamId: null }))
    t.match(await openOf(one), [{ upstreamId: one.upstreamId, pending: 20 }])
  })
}

const decisionTests = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  const begun = async () => {
    const one = await scene(store)
    await suppressReported(one, names(20))
    const [incident] = await openOf(one)
    return { one, id: incident?.id ?? '' }
  }

  await t.test('accepted, they are suppressed', async (t) => {
    const { one, id } = await begun()
    const { accountId, workspace } = one.at
    t.equal(await store.decideIncident(accountId, id, 'accepted', T0 + 1), 20)
    t.equal(await suppressed(one, names(20)), 20)
    t.equal(await store.decideIncident(accountId, id, 'dismissed', T0 + 2), 'decided')
    t.equal(await store.decideIncident(newId('acct'), id, 'dismissed', T0 + 2), 'not_found')
    t.match(await store.incident(accountId, id), { decision: 'accepted', decidedAt: T0 + 1, pending: 0 })
    t.match(await store.suppression(workspace.id, 'user0@y.test'), { origin: 'bounce' })
    const [next] = await suppressReported(one, names(1, 'y.test', 90))
    t.equal(next?.as, 'added', 'the window begins anew')
  })

  await t.test('dismissed, they live', async (t) => {
    const { one, id } = await begun()
    t.equal(await store.decideIncident(one.at.accountId, id, 'dismissed', T0 + 1), 20)
    t.equal(await suppressed(one, names(20)), 0)
    t.same((await store.pendingSuppressions(one.at.workspace.id, page({ limit: 50 }))).rows, [])
  })

  await t.test('one of them alone', async (t) => {
    const { one } = await begun()
    const list = one.at.workspace.id
    t.match(await store.pendingSuppression(list, 'user1@y.test'), { email: 'user1@y.test' })
    t.match(await store.removeSuppression(list, 'user1@y.test'), { email: 'user1@y.test' })
    await store.addSuppression({ ...dead(one, 'user2@y.test', '').row, origin: 'manual' })
    t.equal(await suppressed(one, names(20)), 1)
    t.match(await openOf(one), [{ pending: 18 }])
  })

  await t.test('after seven days nobody was dead', async (t) => {
    const own = await open(t)
    const one = await scene(own)
    await suppressReported(one, names(20), {}, Date.now())
    const keep = { bodiesMs: 9 * DAY, emailsMs: 9 * DAY, deadlines: false }
    const [incident] = await openOf(one)
    await own.sweep(Date.now() + INCIDENT_STANDS_MS - HOUR, keep)
    t.same(await own.openIncidents(), { incidents: 1, suppressions: 20 })
    await own.sweep(Date.now() + INCIDENT_STANDS_MS + HOUR, keep)
    t.same(await own.openIncidents(), { incidents: 0, suppressions: 0 })
    t.equal(await suppressed(one, names(20)), 0)
    t.match(await own.incident(one.at.accountId, incident?.id ?? ''), { decision: 'dismissed', pending: 0 })
  })
}

const eventTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('lists tell what happened to them', async (t) => {
    const one = await scene(store)
    await suppressReported(one, names(20))
    const [incident] = await openOf(one)
    await store.decideIncident(one.at.accountId, incident?.id ?? '', 'accepted', T0)
    const filter = {
      accountId: one.at.accountId,
      workspaceId: one.at.workspace.id,
      accountWide: false,
      mode: null,
      types: ['suppression.added', 'suppression.removed', 'suppression.incident'] as const,
      emailId: null,
      recipient: null,
      change: null,
      createdAfter: null,
      createdBefore: null,
    }
    const { rows } = await store.log(filter, page({ limit: 100 }))
    const count = (type: string): number => rows.filter((row) => row.type === type).length
    t.same(['suppression.added', 'suppression.removed', 'suppression.incident'].map(count), [19 + 20, 19, 1])
    t.match(rows.find(({ type }) => type === 'suppression.incident')?.data, {
      incident_id: incident?.id,
      domain: 'y.test',
      said: 'no such user',
      addresses: 20,
    })
  })

  await t.test('who decided is in the audit', async (t) => {
    const one = await scene(store)
    await suppressReported(one, names(20))
    const [incident] = await openOf(one)
    const actor = { kind: 'person', id: newId('usr'), name: 'Ana', address: null } as const
    await store.by(actor).decideIncident(one.at.accountId, incident?.id ?? '', 'accepted', T0)
    const filter = {
      action: null,
      objectId: null,
      actorId: null,
      workspaceId: null,
      since: null,
      until: null,
    }
    const { rows } = await store.audit(one.at.accountId, filter, page({ limit: 10 }))
    t.match(rows, [
      {
        action: 'suppression.accepted',
        object: { type: 'incident', id: incident?.id },
        workspaceId: one.at.workspace.id,
        detail: { domain: 'y.test', said: 'no such user', changed: 20 },
      },
    ])
  })
}

export const incidentsContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await shareTests(t, store)
  await outageTests(t, store)
  await slowTests(t, store)
  await livingTests(t, store)
  await reportTests(t, store)
  await decisionTests(t, store, open)
  await eventTests(t, store)
}
