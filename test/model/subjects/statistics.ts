/**
 * NAME      statistics - what is counted
 */

import { KEPT, type Statistics, type StatisticsRow, TAG_SEPARATOR } from '../../../src/store/port/watch.js'
import { added, busyOf, crowdedOut, mayCrowd, restOf, spansOf } from '../../../src/store/rules/watch.js'
import type { Plain } from '../plain.js'
import { anyWorkspace, type State, workspaceOrd } from '../state.js'

const PAGE = 1_000
const HOUR_MS = 3_600_000

type Row = StatisticsRow

const keyOf = ({ span, at, workspaceId, mode, dimension, value }: Row): string =>
  JSON.stringify([span, at, workspaceId, mode, dimension, value])

const createAdding = ({ statistics }: State) => {
  /** True when the row is new. */
  const add = (row: Row): boolean => {
    const key = keyOf(row)
    const counts = added(statistics.get(key)?.counts ?? [], row.counts)
    if (statistics.change(key, { counts })) return false
    statistics.add(key, { ...row, counts })
    return true
  }
  /** Those like it in the same hour, but for their value. */
  const beside = (hour: Row, span: number, at: number): Row[] =>
    statistics.where(
      (row) =>
        row.span === span &&
        row.at >= at &&
        row.at < at + HOUR_MS &&
        row.workspaceId === hour.workspaceId &&
        row.mode === hour.mode &&
        row.dimension === hour.dimension,
    )
  const makeRoom = (hour: Row): void => {
    const values = beside(hour, 60, hour.at).map(({ value, counts }) => ({ value, busy: busyOf(counts) }))
    const gone = crowdedOut(hour.dimension, values)
    for (const span of spansOf(hour.dimension))
      for (const row of beside(hour, span, hour.at).filter(({ value }) => gone.includes(value))) {
        statistics.delete(keyOf(row))
        add({ ...row, value: restOf(row.dimension, row.value) })
      }
  }
  return { add, makeRoom }
}

interface Counting extends Plain<Statistics> {
  addStatistics(rows: readonly StatisticsRow[]): void
}

export const createStatistics = (state: State): Counting => {
  const { statistics } = state
  const { add, makeRoom } = createAdding(state)
  const placeOf = ({ at, workspaceId, value }: Row): string =>
    `${String(at).padStart(15, '0')} ${String(workspaceOrd(state, workspaceId)).padStart(17, '0')} ${value}`
  return {
    addStatistics(rows) {
      for (const { workspaceId } of rows)
        if (anyWorkspace(state, workspaceId) === null) throw new Error(`no workspace ${workspaceId}`)
      const fuller = rows.filter((one) => add(one) && mayCrowd(one))
      const hours = new Map(fuller.map((row) => [keyOf({ ...row, value: '' }), row]))
      for (const row of hours.values()) makeRoom(row)
    },
    statistics(query, after) {
      const { accountId, workspaceId, mode, dimension, tagName, span, from, to } = query
      const isOfTag = (value: string): boolean =>
        tagName === null || value === tagName || value.startsWith(`${tagName}${TAG_SEPARATOR}`)
      const found = statistics
        .where(
          (row) =>
            (accountId === null || anyWorkspace(state, row.workspaceId)?.accountId === accountId) &&
            (workspaceId === null || row.workspaceId === workspaceId) &&
            row.mode === mode &&
            row.dimension === dimension &&
            row.span === span &&
            row.at >= from &&
            row.at < to &&
            isOfTag(row.value),
        )
        .map((row) => ({ row, place: placeOf(row) }))
        .sort((a, b) => (a.place < b.place ? -1 : 1))
        .filter(({ place }) => after === null || place > after)
      const here = found.slice(0, PAGE)
      const next = found.length > PAGE ? (here.at(-1)?.place ?? null) : null
      return { rows: here.map(({ row }) => row), next }
    },
  }
}

export const sweepStatistics = ({ statistics }: State, now: number): number =>
  statistics.drop(({ span, at }) => at < now - KEPT[span])
