/** Endpoints that are behind the others, and catch up. */
import fc from 'fast-check'
import t from 'tap'
import { LIFE_MS, LONGEST_WAIT_MS } from '../../../src/webhook/health.js'
import { bench, gotAll, MINUTE, passUntil, SECOND } from './fixture.js'

const DOWN = { kind: 'status', status: 500 } as const
const UP = { kind: 'status', status: 200 } as const

t.test('endpoints that fall behind and catch up are told each event once', async (t) => {
  const b = await bench(t)
  const paths = ['/a', '/b', '/c']
  for (const path of paths) await b.add(path, path === '/c' ? { maxInFlight: 2 } : {})
  await b.start()
  const all: string[] = []
  const move = fc.record({
    events: fc.nat(130),
    path: fc.constantFrom(...paths),
    isDown: fc.boolean(),
    seconds: fc.nat(20),
  })
  const [moves = []] = fc.sample(fc.array(move, { minLength: 14, maxLength: 14 }), { numRuns: 1, seed: 11 })
  for (const { events, path, isDown, seconds } of moves) {
    await b.receiver.set(path, isDown ? DOWN : UP)
    if (events > 0) all.push(...(await b.events(events)))
    b.clock.pass(seconds * SECOND)
  }
  for (const path of paths) await b.receiver.set(path, UP)
  const isTaken = (path: string): boolean => {
    const taken = new Set(b.receiver.takenAt(path))
    return all.every((id) => taken.has(id))
  }
  // longer than any post waits for its next try, and not so long that one is given up
  const upTo = (LONGEST_WAIT_MS + LIFE_MS) / 2
  for (const path of paths) {
    await passUntil(b, `all is taken at ${path}`, MINUTE, () => isTaken(path), {
      upTo,
      moves: () => b.receiver.takenAt(path).length,
      seen: () => [all.length, new Set(b.receiver.takenAt(path)).size],
    })
    const taken = b.receiver.takenAt(path).filter((id) => all.includes(id))
    t.equal(taken.length, all.length, `${path}: nothing lost, nothing twice`)
  }
})

t.test('when a look has no time for all that are behind, they take turns', async (t) => {
  const b = await bench(t)
  const paths = ['/a', '/b', '/c', '/d']
  for (const path of paths) await b.add(path)
  const ids = await b.events(250)
  // each reading takes longer than a look has for them
  const tick = (): number => {
    b.clock.pass(30)
    return b.clock.tick()
  }
  await b.start({ clock: { now: b.clock.now, tick } })
  for (const path of paths) await gotAll(b, path, ids)
  for (const path of paths) t.same(b.receiver.idsOf(path).sort(), [...ids].sort(), path)
})
