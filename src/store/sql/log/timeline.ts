/**
 * NAME      timeline - the events of one mail
 */

import { Fault } from '../../../base/fault.js'
import type { EventRow } from '../../../lifecycle/facts.js'
import { type Page, type Rows, rowBeside } from '../../../lifecycle/page.js'
import { boundaryOf, TOP } from '../pages.js'
import { type Asking, first } from '../query.js'
import {
  above,
  BOTTOM,
  type Found,
  type Mark,
  type Place,
  pageOfPlaces,
  type Reach,
  readMark,
  type Source,
  takeFrom,
} from './places.js'
import { Records } from './records.js'
import { firstSource, storedSource } from './sources.js'

const ALL = 1_000_000

/** Records of one mail, also those of its history. */
const mailSources = (ord: number): readonly Source[] => [
  storedSource({ from: 'events v', where: ['v.email = ?'], params: [ord] }),
  firstSource({
    from: 'emails e CROSS JOIN recipients r',
    where: ['r.email_ord = e.ord', 'e.ord = ?'],
    params: [ord],
  }),
]

function* ordOf(emailId: string): Asking<number | null> {
  const row = yield* first('SELECT ord FROM emails WHERE id = ?', emailId)
  return (row?.ord ?? null) as number | null
}

interface Told {
  readonly place: Place
  readonly event: EventRow
}

function* allTold(places: readonly Found[], ord: number): Asking<Told[]> {
  const records = new Records()
  const told: Told[] = []
  for (const place of places) {
    const event = yield* records.event(place, ord)
    if (event !== null) told.push({ place, event })
  }
  return told
}

/** All of a mail's timeline, oldest first. */
export function* timelineOf(emailId: string): Asking<readonly Told[]> {
  const ord = yield* ordOf(emailId)
  return ord === null ? [] : yield* allTold(yield* takeFrom(mailSources(ord), 'newer', BOTTOM, ALL), ord)
}

/** Where a page begins: at a mark, or at a cursor that holds an id, as Postern 0.1 made them. */
function* anchorOf(ord: number | null, page: Page): Asking<Mark | null> {
  if (page.anchor === null) return null
  const id = rowBeside(page.anchor)
  if (id !== null) {
    const all =
      ord === null ? [] : yield* allTold(yield* takeFrom(mailSources(ord), 'newer', BOTTOM, ALL), ord)
    const place = all.find(({ event }) => event.id === id)?.place
    if (place === undefined) throw new Fault('validation.cursor_invalid')
    return page.direction === 'older' ? place : above(place)
  }
  const ids = { from: 'events WHERE email = ?', params: [ord] }
  return readMark(page.anchor) ?? { ord: Math.min(yield* boundaryOf(ids, page), TOP), n: 0 }
}

export function* timelinePage(emailId: string, page: Page, reach: Reach): Asking<Rows<EventRow>> {
  const ord = yield* ordOf(emailId)
  const sources = ord === null ? [] : mailSources(ord)
  const places = yield* pageOfPlaces(sources, page, yield* anchorOf(ord, page), reach)
  const told = yield* allTold(places.rows, ord ?? 0)
  return { ...places, rows: told.map(({ event }) => event) }
}
