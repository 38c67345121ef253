/** Counts that alarms are judged by, and outages that were told. */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Outcome } from '../../src/lifecycle/facts.js'
import type { Mode } from '../../src/lifecycle/page.js'
import { ALARM_CALM_MS, ALARM_SPAN_MS } from '../../src/store/port/alarms.js'
import type { Store } from '../../src/store/port/store.js'
import type { WorkspaceRow } from '../../src/store/port/tenants.js'
import type { AlarmCount } from '../../src/store/port/watch.js'
import {
  accepted,
  addWorkspace,
  foldAlarms,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  T0,
  type TestAccount,
  toOne,
} from './fixture.js'

const counted = (at: TestAccount, over: Partial<AlarmCount>): AlarmCount => ({
  workspaceId: at.workspace.id,
  span: T0,
  tried: 0,
  complaints: 0,
  hardBounces: 0,
  deferrals: 0,
  ...over,
})

const alarmedOf = async (store: Store, at: TestAccount) =>
  (await store.workspace(at.accountId, at.workspace.id))?.alarmed

/** Folds one batch after another, each from where the last one ended. */
const folder = (store: Store) => {
  let n = 0
  return async (counts: readonly AlarmCount[], now: number) =>
    foldAlarms(store, { from: (await store.readPlaces()).alarms, to: `m${++n}`, counts, now })
}

const crossingTests = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('each crossing is one turn, and the same counts twice are none', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    t.equal((await store.readPlaces()).alarms, null)
    t.same(await alarmedOf(store, at), {})
    const first = { from: null, to: 'a', counts: [counted(at, { tried: 100, hardBounces: 4 })], now: T0 + 1 }
    t.same(await foldAlarms(store, first), [])
    t.same(await foldAlarms(store, first), [], 'counted from another mark than the stored one: nothing')
    t.equal((await store.readPlaces()).alarms, 'a')
    const next = { from: 'a', to: 'b', counts: [counted(at, { tried: 100, hardBounces: 16 })], now: T0 + 2 }
    t.match(await foldAlarms(store, next), [
      {
        accountId: at.accountId,
        workspaceId: at.workspace.id,
        alarm: 'hard_bounces',
        raised: { since: T0 + 2, count: 20, tried: 200 },
        hold: null,
      },
    ])
    t.same(await foldAlarms(store, next), [])
    t.same(
      await foldAlarms(store, { from: 'b', to: 'c', counts: [counted(at, { hardBounces: 5 })], now: T0 + 3 }),
      [],
    )
    t.match(await alarmedOf(store, at), { hard_bounces: { count: 25, since: T0 + 2 } }, 'as they are now')
    t.same(await store.standingAlarms(), [{ workspaceId: at.workspace.id, alarm: 'hard_bounces' }])
    t.same(await store.holds(at.accountId), [], 'nobody is held who did not ask for it')
  })

  await t.test('over after an hour below the limit, and a new one after that', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const fold = folder(store)
    t.equal((await fold([counted(at, { tried: 100, deferrals: 60 })], T0)).length, 1)
    const last = T0 + HOUR - 1
    t.same(await fold([], last), [], 'all of it is in the window still')
    // the window has passed: from here on it is below
    const gone = T0 + HOUR + 2 * ALARM_SPAN_MS
    t.same(await fold([], gone), [], 'not over at once')
    t.same(
      await fold([counted(at, { span: gone, tried: 100, deferrals: 60 })], gone),
      [],
      'the same alarm still',
    )
    const later = gone + HOUR + 2 * ALARM_SPAN_MS
    t.match(await fold([], later), [{ alarm: 'deferrals', raised: null }])
    t.same(await alarmedOf(store, at), {})
    t.equal((await fold([counted(at, { span: later, tried: 100, deferrals: 60 })], later)).length, 1)
    t.ok(later - gone >= ALARM_CALM_MS)
  })

  await t.test('a clock that was put back delays no end for longer than an hour', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const fold = folder(store)
    const ahead = T0 + 48 * HOUR
    t.equal((await fold([counted(at, { span: ahead, tried: 100, deferrals: 60 })], ahead)).length, 1)
    t.same(await fold([], T0), [], 'what lies in the future is in no window')
    t.same(await fold([], T0 + HOUR / 2), [])
    t.match(await fold([], T0 + HOUR), [{ alarm: 'deferrals', raised: null }])
  })

  await t.test('windows: an hour for two of them, a day for complaints', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const fold = folder(store)
    const old = { tried: 1_000, hardBounces: 60, complaints: 4 }
    t.match(await fold([counted(at, { ...old, span: T0 - 2 * HOUR })], T0), [])
    const [turn, ...others] = await fold([counted(at, { tried: 1, complaints: 1 })], T0)
    t.match(turn, { alarm: 'complaints', raised: { count: 5, tried: 1_001 } })
    t.same(others, [])
    await fold([counted(at, { span: T0 + 26 * HOUR, tried: 1 })], T0 + 26 * HOUR)
    t.match(
      await fold([counted(at, { span: T0 + 26 * HOUR, complaints: 5, tried: 1_000 })], T0 + 26 * HOUR),
      [{ alarm: 'complaints', raised: { count: 5, tried: 1_001 } }],
      'what is older than a day is forgotten',
    )
  })

  await t.test('limits of its own, and none', async (t) => {
    const store = await open(t)
    const other = await newAccount(store)
    const at = await addWorkspace(store, other, 'strict', {
      alarms: { hard_bounces: { rate: 0.5, atLeast: 2 }, complaints: 'off' },
    })
    const fold = folder(store)
    t.same(await fold([counted(at, { tried: 100, hardBounces: 40, complaints: 90 })], T0), [])
    t.match(await fold([counted(at, { hardBounces: 10 })], T0), [{ alarm: 'hard_bounces' }])
    await store.updateWorkspace(at.workspace.id, { alarms: { hard_bounces: 'off' } })
    t.match(await fold([counted(at, {})], T0 + 1), [
      { alarm: 'complaints', raised: { count: 90 } },
      { alarm: 'hard_bounces', raised: null },
    ])
  })
}

const causeTests = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test(
    'the cause of an alarm: of what counts in its window, in live mail of that workspace',
    async (t) => {
      const store = await open(t)
      const other = await newAccount(store)
      const at = await addWorkspace(store, other, 'caused')
      const refuse = async (
        of: TestAccount,
        n: number,
        reason: string,
        over: Partial<Outcome> = {},
        mode: Mode = 'live',
      ) => {
        const recipients = Array.from({ length: n }, (_, i) => toOne(`r${i}@example.com`))
        await accepted(store, of, { recipients, mode })
        const leases = await store.claim(of.poolId, n, T0 + HOUR, T0)
        const detail = { stage: 'rcpt', class: 'hard', fault: 'recipient', ms: 3 }
        await store.settle(
          leases.map((one) =>
            ofLease(one, {
              ...{
                seen: 'rejected',
                reply: { code: 550, enhanced: '5.1.1', text: 'no' },
                reason,
                detail,
                at: T0,
              },
              ...over,
            }),
          ),
        )
      }
      const soft = { detail: { stage: 'rcpt', class: 'soft', fault: 'recipient', ms: 3 } }
      await refuse(at, 9, 'moved', { at: T0 - 2 * HOUR })
      await refuse(at, 3, 'unknown_user')
      await refuse(at, 2, 'disabled')
      await refuse(at, 9, 'mailbox_full', soft)
      await refuse(at, 9, 'disabled', {}, 'test')
      await refuse(other, 9, 'unknown_domain')
      const fold = folder(store)
      const [turn] = await fold([counted(at, { tried: 100, hardBounces: 20 })], T0 + 1)
      const cause = { reason: 'unknown_user', count: 3, of: 5, domain: 'example.com' }
      t.same(turn?.raised?.cause, cause)
      const inEvent = await store.log(
        {
          ...{ accountId: at.accountId, workspaceId: at.workspace.id, accountWide: false, mode: null },
          ...{ types: ['workspace.rate_alarm'], emailId: null, recipient: null, change: null },
          ...{ createdAfter: null, createdBefore: null },
        },
        page(),
      )
      t.same(inEvent.rows[0]?.data?.cause, { ...cause, title: 'No such mailbox' })
      const causeNow = async () => (await alarmedOf(store, at))?.hard_bounces?.cause
      await refuse(at, 4, 'disabled')
      await fold([counted(at, { hardBounces: 4 })], T0 + 2)
      t.same(await causeNow(), cause, 'not with each look')
      await fold([counted(at, { hardBounces: 1 })], T0 + 60_000)
      t.same(
        await causeNow(),
        { reason: 'disabled', count: 6, of: 9, domain: 'example.com' },
        'once a minute',
      )
      for (const minutes of [64, 66]) await fold([], T0 + minutes * 60_000)
      t.match(await causeNow(), { reason: 'disabled' }, 'while it is calm, what it was')
      const silent = await addWorkspace(store, other, 'silent')
      const [other2] = await fold([counted(silent, { tried: 100, deferrals: 90 })], T0 + HOUR)
      t.same(other2?.raised?.cause, null, 'of nothing that is known')
    },
  )
}

const holdTests = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test(
    'held in the same commit; released by a person, and not held again for the same alarm',
    async (t) => {
      const store = await open(t)
      const other = await newAccount(store)
      const at = await addWorkspace(store, other, 'held', { onAlarm: 'hold' })
      const fold = folder(store)
      const mail = await accepted(store, at)
      const beside = await accepted(store, other)
      const [turn] = await fold([counted(at, { tried: 100, hardBounces: 30 })], T0)
      t.match(turn?.hold, {
        workspaceId: at.workspace.id,
        poolId: null,
        reason: /^alarm: 30 of 100 recipients/,
      })
      const [hold, ...more] = await store.holds(at.accountId)
      t.same(more, [])
      t.equal(hold?.id, turn?.hold?.id)
      const claim = async (now: number) =>
        (await store.claim(at.poolId, 10, now + HOUR, now)).map(({ emailId }) => emailId)
      t.same(await claim(T0 + 1), [beside.id], 'from that commit on nothing of it leaves')
      const second = await fold([counted(at, { complaints: 30 })], T0)
      t.match(second, [{ alarm: 'complaints', hold: null }], 'one hold is enough')
      const scope = {
        accountId: at.accountId,
        workspaceId: at.workspace.id,
        poolId: null,
        domain: null,
        emailId: null,
      }
      t.equal(await store.operate({ action: 'release', scope, to: null, reason: 'seen', now: T0 }), 1)
      t.same(await fold([counted(at, { hardBounces: 30 })], T0 + 2), [])
      t.same(await store.holds(at.accountId), [])
      t.same(await claim(T0 + 3), [mail.id])
    },
  )
}

const otherTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('a workspace that was deleted is judged no more', async (t) => {
    const at = await addWorkspace(store, await newAccount(store), 'gone', { onAlarm: 'hold' })
    await store.deleteWorkspace(at.accountId, at.workspace.id, 'x', T0)
    t.same(await folder(store)([counted(at, { tried: 9, complaints: 9 })], T0), [])
    t.same(await store.holds(at.accountId), [])
  })

  await t.test('settings are kept as they were given, and alarms are nothing that one can set', async (t) => {
    const at = await newAccount(store)
    const alarms: WorkspaceRow['alarms'] = { complaints: { rate: 0.01, atLeast: 3 }, deferrals: 'off' }
    await store.updateWorkspace(at.workspace.id, { alarms, onAlarm: 'hold' })
    t.match(await store.workspace(at.accountId, at.workspace.id), { alarms, onAlarm: 'hold', alarmed: {} })
    const { rows } = await store.workspaces(at.accountId, page())
    t.match(rows, [{ alarms }])
  })

  await t.test('an outage is noted once, and ends once', async (t) => {
    const id = newId('up')
    t.equal(await store.noteOutage(id, T0, null), true)
    t.equal(await store.noteOutage(id, T0 + 5, null), false)
    t.match(await store.outages(), [{ upstreamId: id, since: T0 }])
    t.equal(await store.noteOutage(id, null, null), true)
    t.equal(await store.noteOutage(id, null, null), false)
    t.same(await store.outages(), [])
  })
}

export const watchContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await crossingTests(t, open)
  await causeTests(t, open)
  await holdTests(t, open)
  await otherTests(t, store)
}
