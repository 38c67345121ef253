/** Cursors that 0.1.0 gave out go on where they were, over a database that was carried over. */
import t from 'tap'
import { ANSWERS, makeOld } from '../parts/of-0.1.0.js'
import { needsFile } from '../parts/store.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

t.test('every page that 0.1.0 answered is answered alike', { skip: needsFile }, async (t) => {
  const kit = await openKit({ prepare: (dataDir) => makeOld(dataDir) })
  t.teardown(() => kit.stop())
  t.ok(ANSWERS.pages.length > 70)
  for (const { path, who, ids, has_next, has_prev, total } of ANSWERS.pages) {
    const key = who === 'session' ? kit.session : (ANSWERS.keys[who] ?? null)
    const reply = await kit.ask(path, { key })
    if (reply.status !== 200) t.fail(`${path} ${reply.text}`)
    // the keys of this kit itself, and the pools that workspaces have got, stand above those of then
    const { data, pagination } = reply.json
    const seen = data.map((one: { id: string }) => one.id)
    if (/^.v1.(api-keys|egress-pools)/.test(path)) {
      if (ids.length === 2) t.strictSame(seen, ids, path)
      continue
    }
    t.strictSame(seen, ids, `${who} ${path}`)
    t.strictSame([pagination.has_next, pagination.has_prev], [has_next, has_prev], `around ${who} ${path}`)
    if (total !== undefined) t.equal(pagination.total, total)
  }
})

t.test('a poller of 0.1.0 goes on', { skip: needsFile }, async (t) => {
  const kit = await openKit({ prepare: (dataDir) => makeOld(dataDir) })
  t.teardown(() => kit.stop())
  const key = ANSWERS.keys.key ?? ''
  const polls = ANSWERS.pages.filter(
    ({ path, who, ids, has_prev }) =>
      who === 'key' && path.startsWith('/v1/emails?cursor=') && ids.length === 0 && !has_prev,
  )
  t.ok(polls.length > 0)
  const sent = await kit.ask('/v1/emails', { key, body: MAIL })
  t.same(fieldsOf(sent), [])
  for (const { path } of polls) {
    const { json } = await kit.ask(path, { key })
    t.same(
      json.data.map((one: { id: string }) => one.id),
      [sent.json.id],
      path,
    )
  }
})
