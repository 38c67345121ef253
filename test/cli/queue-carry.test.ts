/** The queue moves from one installation to another: whole, once, and back when it did not. */
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needsFile } from '../parts/store.js'
import { accepted, HOUR, ofLease, page, report, scopeOf, toOne } from '../store/fixture.js'
import { openDesk, postern } from './desk.js'
import { due, withStore } from './waiting.js'

t.test('there, once, and as it was', async (t) => {
  const [here, there] = [openDesk(t), openDesk(t)]
  await here.json(['workspace', 'list'])
  await there.json(['workspace', 'list'])
  const file = join(here.dir, 'queue.jsonl')
  const mails = await withStore(here, async (store, at) => {
    const now = Date.now()
    const small = await accepted(store, at, {
      createdAt: now,
      recipients: [toOne('a@x.test'), toOne('b@x.test')],
    })
    const large = await accepted(store, at, { createdAt: now, raw: Buffer.alloc(100_000, 'x\r\n') })
    const later = await accepted(store, at, { createdAt: now, scheduledAt: now + 8 * HOUR })
    const [first] = await store.claim(at.poolId, 1, now + HOUR, now)
    if (first === undefined) throw new Error('nothing is due')
    await store.settle([ofLease(first, { seen: 'postponed', retryAt: now + HOUR, at: now })])
    const [busy] = (await store.claim(at.poolId, 10, now + HOUR, now)).filter(
      (one) => one.emailId === large.id,
    )
    await store.release([busy as never], now)
    await store.release([{ recipientId: small.recipients[1]?.id ?? '', leaseGen: 1 }], now)
    return { small, large, later }
  })
  const before = await due(here)
  t.equal(before.length, 4)
  t.match(await here.json(['queue', 'export', file, '--all', '--dry-run']), { dry_run: true })
  t.match(await here.run(['queue', 'export', file, '--all']), { code: 64, stderr: /--yes/ })
  t.match(await here.json(['queue', 'export', file, '--all', '--yes']), { mails: 3, waiting: 0 })
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(await due(here), [], 'nothing is sent from here')
  const everything = ['--all', '--reason', 'x', '--dry-run']
  for (const verb of ['release', 'purge'])
    t.match(await here.run(['queue', verb, ...everything]), {
      stdout: `would ${verb} 0 of`,
      stderr: /0 held/,
    })
  t.match(await here.run(['queue', 'holds']), {
    stderr: /4 recipients held by none of these, and postern queue list --state held says why/,
  })
  await here.json(['queue', 'release', '--all', '--reason', 'x'])
  await here.json(['queue', 'purge', '--all', '--reason', 'x', '--yes'])
  t.same(await due(here), [], 'not by other orders either')

  t.match(await there.json(['queue', 'import', file, '--dry-run']), { imported: 0, mails: 3 })
  t.match(await there.json(['queue', 'import', file, '--yes']), { imported: 3 })
  t.same(await due(there), before)
  t.match(await there.json(['queue', 'import', file, '--yes']), { imported: 0, known: 3 }, 'only once')
  t.equal((await due(there)).length, 4)
  await withStore(there, async (store) => {
    t.same(Buffer.from((await store.body(mails.large.id)) ?? ''), Buffer.alloc(100_000, 'x\r\n'))
    t.equal((await store.content(mails.small.id)) !== null, true)
  })
  const shown = await there.run(['email', 'show', mails.small.id])
  t.match(shown, { code: 0, stdout: /carried over/ })
  t.equal((await there.json(['email', 'show', mails.later.id])).id, mails.later.id)
})

t.test('a lot is taken back or forgotten, and not both', async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  const one = await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  const [a, b] = [join(here.dir, 'a.jsonl'), join(here.dir, 'b.jsonl')]
  const first = await here.json(['queue', 'export', a, '--all', '--yes'])
  t.match(first, { mails: 1, lot: /^lot_/ })
  t.match(await here.run(['queue', 'export', a, '--all', '--yes']), { code: 73 })
  const two = await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  const second = await here.json(['queue', 'export', b, '--all', '--yes'])
  t.match(second, { mails: 1, held: 0 }, 'only what this run marked')
  t.notOk(readFileSync(b, 'utf8').includes(one.id))
  t.ok(readFileSync(b, 'utf8').includes(two.id))

  const refused = async (verb: string, lot: string, words: RegExp) =>
    t.match(await here.run(['queue', verb, lot, '--yes']), { code: 65, stderr: words }, `${verb} ${lot}`)
  await refused('take-back', 'nonsense', /there is no lot nonsense; postern queue lots/)
  t.match(await here.run(['queue', 'take-back', first.lot]), { code: 64, stderr: /--yes/ })
  t.match(await here.json(['queue', 'take-back', first.lot, '--dry-run']), { mails: 1, changed: 0 })
  t.match(await here.json(['queue', 'take-back', first.lot, '--yes']), { mails: 1, changed: 1 })
  t.match(await due(here), [new RegExp(one.id)], 'and nothing of the other lot')
  t.ok(existsSync(`${a}.taken-back`), 'its file is out of the way')
  await refused('forget', first.lot, /was taken back: its mail is sent from here/)
  t.match(await here.json(['queue', 'take-back', first.lot, '--yes']), { mails: 0, changed: 0 }, 'again')

  t.match(await here.run(['queue', 'forget', second.lot]), { code: 64, stderr: /--yes/ })
  t.match(await here.json(['queue', 'forget', second.lot, '--yes']), { mails: 1, changed: 1 })
  await refused('take-back', second.lot, /was forgotten: another machine has its mail/)
  await refused('take-back', second.lot, /was forgotten/)
  t.match(await here.json(['email', 'show', two.id]), {
    status: 'canceled',
    recipients: [{ status: 'canceled', reason: 'moved' }],
  })
  t.match(await here.json(['queue', 'lots']), [
    { id: second.lot, state: 'forgotten', recipients: 0 },
    { id: first.lot, state: 'taken_back', recipients: 0 },
  ])
  t.match(await here.run(['queue', 'import', b, '--yes']), { code: 65, stderr: /was forgotten/ })
  t.match(await due(here), [new RegExp(one.id)])
})

t.test('forgotten mail: no word to its sender, late reports change nothing, and it ages', async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  const mail = await withStore(here, (store, at) =>
    accepted(store, at, { createdAt: Date.now(), mailFrom: 'sender@acme.test' }),
  )
  const { lot } = await here.json(['queue', 'export', join(here.dir, 'a.jsonl'), '--all', '--yes'])
  await here.json(['queue', 'forget', lot, '--yes'])
  await withStore(here, async (store) => {
    t.same(await store.pendingDsns(Date.now() + HOUR, 10), [])
    const [settled] = await store.settle([
      report(mail.recipients[0]?.id ?? '', { seen: 'dsn-delivered', at: Date.now() }),
    ])
    t.match(settled, { applied: false, to: 'canceled' })
    const events = (await store.events(mail.id, page({ limit: 10 }))).rows
    t.match(
      events.find(({ type }) => type === 'email.canceled'),
      { reason: 'moved', source: 'operator', applied: true, detail: { action: 'moved', lot } },
    )
    await store.sweep(Date.now() + 3 * HOUR, { bodiesMs: HOUR, emailsMs: HOUR })
    t.same(await store.knownEmails([mail.id]), [], 'retention takes it as any other')
  })
})

t.test('what another machine imported is not taken back, nor imported by a third', async (t) => {
  const [here, there, third] = [openDesk(t), openDesk(t), openDesk(t)]
  for (const desk of [here, there, third]) await desk.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  const file = join(here.dir, 'a.jsonl')
  const { lot } = await here.json(['queue', 'export', file, '--all', '--yes'])
  t.match(await here.run(['queue', 'import', file, '--yes']), { code: 65, stderr: /was exported/ })
  await there.json(['queue', 'import', file, '--yes'])
  t.match(await here.run(['queue', 'take-back', lot, '--yes']), {
    code: 65,
    stderr: /was imported by .*postern queue forget lot_/,
  })
  t.match(await third.run(['queue', 'import', file, '--yes']), { code: 65, stderr: /was imported by/ })
  t.same([await due(here), await due(third)], [[], []])
  t.match(await there.json(['queue', 'lots']), [{ id: lot, state: 'imported' }])
  t.match(await there.run(['queue', 'take-back', lot, '--yes']), { code: 65, stderr: /came here from/ })
})

t.test('what has moved away and comes back is sent here again, once', async (t) => {
  for (const ending of ['kept', 'forgotten']) {
    const [here, there] = [openDesk(t), openDesk(t)]
    await here.json(['workspace', 'list'])
    await there.json(['workspace', 'list'])
    const mail = await withStore(here, (store, at) =>
      accepted(store, at, { createdAt: Date.now(), raw: Buffer.alloc(100_000, 'x\r\n') }),
    )
    const [away, back] = [join(here.dir, 'away.jsonl'), join(here.dir, 'back.jsonl')]
    const { lot } = await here.json(['queue', 'export', away, '--all', '--yes'])
    await there.json(['queue', 'import', away, '--yes'])
    if (ending === 'forgotten') await here.json(['queue', 'forget', lot, '--yes'])
    await there.json(['queue', 'export', back, '--all', '--yes'])
    t.match(await here.json(['queue', 'import', back, '--yes']), { imported: 1 }, ending)
    t.match(await due(here), [new RegExp(mail.id)])
    t.same(await due(there), [])
    t.match(await here.json(['queue', 'import', back, '--yes']), { imported: 0, known: 1 })
    t.match(await there.json(['queue', 'import', away, '--yes']), { imported: 0, known: 1 }, 'an old file')
    t.same(await due(there), [])
    await withStore(here, async (store) => {
      t.equal((await store.body(mail.id))?.byteLength, 100_000)
      t.same(await store.check(), [])
    })
  }
})

t.test('two imports of one file at once are one', async (t) => {
  const [here, there] = [openDesk(t), openDesk(t)]
  await here.json(['workspace', 'list'])
  await there.json(['workspace', 'list'])
  const raw = Buffer.alloc(100_000, 'y\r\n')
  await withStore(here, async (store, at) => {
    for (let i = 0; i < 20; i++) await accepted(store, at, { createdAt: Date.now(), raw })
  })
  const file = join(here.dir, 'a.jsonl')
  await here.json(['queue', 'export', file, '--all', '--yes'])
  const args = ['--config', there.configFile, 'queue', 'import', file, '--yes', '--json']
  const both = await Promise.all([postern(args), postern(args), postern(args)])
  t.same(
    both.map(({ code, stderr }) => (code === 0 ? 0 : stderr)),
    [0, 0, 0],
  )
  const imported = both.map(({ stdout }) => JSON.parse(stdout).imported as number)
  t.equal(
    imported.reduce((sum, n) => sum + n, 0),
    20,
  )
  t.equal((await due(there)).length, 20)
  await withStore(there, async (store) => t.same(await store.check(), []))
})

t.test('an appointment that has left is neither moved nor canceled from here', async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  const now = Date.now()
  const mail = await withStore(here, (store, at) =>
    accepted(store, at, { createdAt: now, scheduledAt: now + 8 * HOUR }),
  )
  const { lot } = await here.json(['queue', 'export', join(here.dir, 'a.jsonl'), '--all', '--yes'])
  await withStore(here, async (store, at) => {
    t.equal(await store.reschedule(scopeOf(at), mail.id, now + HOUR, now), 'not_scheduled')
    t.equal(await store.cancel(scopeOf(at), mail.id, now), 'not_scheduled')
  })
  t.same(await due(here), [])
  await here.json(['queue', 'take-back', lot, '--yes'])
  await withStore(here, async (store, at) => {
    t.equal(await store.reschedule(scopeOf(at), mail.id, now + HOUR, now), 'done')
  })
})

t.test('what is held stays, and that is said', async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  await here.json(['queue', 'hold', '--all', '--reason', 'moving', '--yes'])
  const said = await here.run(['queue', 'export', join(here.dir, 'a.jsonl'), '--all', '--yes'])
  t.match(said, { code: 0, stdout: / 0 mails/, stderr: /1 recipients stayed here.*queue release/ })
  t.notMatch(said.stderr, /next, on the other machine/)
  await here.json(['queue', 'release', '--all', '--reason', 'moving', '--yes'])
  const file = join(here.dir, 'b.jsonl')
  t.match(await here.json(['queue', 'export', file, '--all', '--yes']), { mails: 1, held: 0 })
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  await here.json(['queue', 'hold', '--all', '--reason', 'moving', '--yes'])
  const third = join(here.dir, 'c.jsonl')
  t.match(await here.json(['queue', 'export', third, '--all', '--yes']), { mails: 0, held: 1 }, 'also then')
})

t.test('a file that is not whole, or does not fit, changes nothing', async (t) => {
  const [here, there] = [openDesk(t), openDesk(t)]
  await here.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  const file = join(here.dir, 'a.jsonl')
  await here.json(['queue', 'export', file, '--all', '--yes'])
  const whole = readFileSync(file, 'utf8')
  const refused = async (text: string, words: RegExp): Promise<void> => {
    writeFileSync(file, text)
    t.match(await there.run(['queue', 'import', file, '--yes']), { code: 65, stderr: words })
  }
  await refused(`${whole.split('\n').slice(0, 2).join('\n')}\n`, /ends early/)
  await refused('{"a":1}\n', /no export/)
  await refused(whole.replace(/"lot":"\w+",?/, ''), /a\.jsonl:1: lot is no id of a lot/)
  await refused('hello\n', /a\.jsonl:1: is no JSON/)
  const id = /"id":"(em_\w+)"/.exec(whole)?.[1] ?? ''
  const recipient = /"recipients":\[{"id":"(\w+)"/.exec(whole)?.[1] ?? ''
  const event = /"id":"(evt_\w+)"/.exec(whole)?.[1] ?? ''
  const evil = `../../../evil-${process.pid}`
  for (const large of [whole, whole.replace(/"raw":"[^"]*"/, `"raw":"${'QUFB'.repeat(30_000)}"`)])
    for (const bad of [evil, '/etc/passwd', 'em_', `${id}/`, id.toUpperCase(), `${id}\\u0000`, ''])
      await refused(large.replaceAll(id, bad), /a\.jsonl:2: its id is no id of a mail/)
  const other = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  await refused(whole.replace(`"id":"${id}"`, `"id":"${other}"`), /does not fit its id/)
  await refused(whole.replaceAll(recipient, evil), /the id of a recipient is none/)
  await refused(whole.replaceAll(event, evil), /the id of an event is none/)
  await refused(whole.replace(/"lot":"\w+"/, `"lot":"${evil}"`), /lot is no id of a lot/)
  await refused(whole.replace('"held":"exported"', '"held":"hold_1"'), /is held and not exported/)
  await refused(whole.replace('"status":"queued"', '"status":"sending"'), /does not fit/)
  await refused(whole.replace(/"kind":"to"/, '"kind":null'), /does not fit: .*not[ -]null/i)
  for (const time of ['8e15', '1e300', '1.5', '-1', 'null'])
    await refused(
      whole.replace(/"created_at":\d+/, `"created_at":${time}`),
      /a\.jsonl:2: email (?:is not complete|does not fit its id)/,
    )
  for (const lists of ['{}', '{\\"to\\":5}'])
    await refused(whole.replace(/"lists":"(?:[^"\\]|\\.)*"/, `"lists":"${lists}"`), /does not hold the lists/)
  await refused(whole.replace(/"attempts":\d+/, '"attempts":"many"'), /a recipient does not fit/)
  t.same(
    readdirSync(join(there.dir, 'data')).filter((name) => name === 'bodies'),
    [],
  )
  await refused(whole.replaceAll('"workspace":"default"', '"workspace":"other"'), /no workspace other/)
  truncateSync(file, whole.length - 20)
  t.match(await there.run(['queue', 'import', file, '--yes']), { code: 65 })
  t.same(await due(there), [])
})

t.test("dev takes no service's mail", { skip: needsFile }, async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  t.match(await here.run(['dev']), { code: 78, stderr: /1 recipients wait there.*POSTERN_DATA_DIR=/ })
  t.equal((await due(here)).length, 1, 'it waits still')
})
