import fc from 'fast-check'
import t from 'tap'
import { type Day, dayOf, ordAt, rangesOf, timeOf } from '../../../../src/store/sql/pages.js'

const DAY_MS = 86_400_000
const BEGIN = Date.UTC(2026, 0, 1)

/** When it was stored, how far the clock of its mail was off, and which of those of one millisecond it is. */
const rows = fc.array(
  fc.record({
    at: fc.integer({ min: BEGIN, max: BEGIN + 4 * DAY_MS }),
    off: fc.oneof(
      fc.constant(0),
      fc.integer({ min: -3_000, max: 3_000 }),
      fc.integer({ min: -DAY_MS, max: DAY_MS }),
    ),
    count: fc.integer({ min: 0, max: 4_095 }),
  }),
  { minLength: 1, maxLength: 30 },
)
const time = fc.option(fc.integer({ min: BEGIN - DAY_MS, max: BEGIN + 5 * DAY_MS }))

t.test('a range of times finds every mail, and looks at those alone that it cannot be sure of', async (t) => {
  let sure = 0
  fc.assert(
    fc.property(rows, time, time, fc.nat(), (drawn, after, before, near) => {
      const mails = drawn.map(({ at, off, count }) => ({ ord: ordAt(at) + count, createdAt: at + off }))
      const days = new Map<number, Day>()
      for (const { ord, createdAt } of mails) {
        const day = dayOf(ord)
        const old = days.get(day) ?? { day, behind: 0, ahead: 0 }
        const off = timeOf(ord) - createdAt
        days.set(day, { day, behind: Math.max(old.behind, off), ahead: Math.max(old.ahead, -off) })
      }
      // often at the very millisecond of a mail
      const from = near % 3 === 0 ? (mails[near % mails.length]?.createdAt ?? null) : after
      const sorted = [...days.values()].sort((a, b) => a.day - b.day)
      const ranges = rangesOf(sorted, from, before)
      for (const { ord, createdAt } of mails) {
        const fits = (from === null || createdAt > from) && (before === null || createdAt < before)
        const at = ranges.filter((range) => range.from <= ord && ord < range.to)
        if (at.length > 1) return false
        if (fits ? at.length === 0 : at[0]?.isSure === true) return false
        if (at[0]?.isSure === true) sure += 1
      }
      return ranges.every(({ from }, i) => i === 0 || from >= (ranges[i - 1]?.to ?? 0))
    }),
    { numRuns: 2_000, seed: 7 },
  )
  t.ok(sure > 1_000, `${sure} mails stood where nothing need be looked at`)
})
