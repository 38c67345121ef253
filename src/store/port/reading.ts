/**
 * NAME      reading - the store's verbs for whoever reads the log once, for several
 * DESCRIPTION
 *   Statistics, alarms and the index of words each add something of the whole log to what they keep, and each has the
 *   mark up to which it has done so; the sandbox has that up to which it has reported. What is added moves the marks in
 *   the same commit, and only from where they stand: whoever dies or is overtaken reads again from there, so that
 *   everything is counted once.
 * NOTES
 *   The index has all mail, also what came before the log began or with its history: its mark may be below the log.
 */
import type { Followed } from './log.js'
import type { StatisticsRow } from './statistics.js'
import type { AlarmCount, AlarmTurn } from './watch/watch.js'

export const READERS = ['statistics', 'alarms', 'search', 'sandbox'] as const
export type Reader = (typeof READERS)[number]

/** Marks; null: nothing was read before. */
export type ReadPlaces = Readonly<Record<Reader, string | null>>

/** A mail by its place, as the index has it. */
export type IndexedMail = readonly [place: number, tokens: string]

export interface LogPart extends Followed {
  readonly mails: readonly IndexedMail[]
}

/** What some of the readers add, each from its stored mark; all of them come to `to`. */
export interface ReadUp {
  readonly to: string
  readonly statistics?: { readonly from: string | null; readonly rows: readonly StatisticsRow[] }
  /** Those workspaces are judged, and the ones whose alarms stand. */
  readonly alarms?: {
    readonly from: string | null
    readonly counts: readonly AlarmCount[]
    readonly now: number
  }
  readonly search?: { readonly from: string | null; readonly mails: readonly IndexedMail[] }
  readonly sandbox?: { readonly from: string | null }
}

/** What one of them adds. */
export type Added<R extends Reader> = NonNullable<ReadUp[R]>

/** The records, the mails for the index, which may be older than the log, or both. */
export type ReadOf = 'log' | 'mails' | 'both'

export interface Reading {
  readPlaces(): Promise<ReadPlaces>
  /**
   * What comes after a mark and not beyond another, of whoever: about so many of each, and no mail in part.
   * 'gone': the log can not be followed from there, go on from `logEnds().oldest`.
   */
  readLog(of: ReadOf, after: string, until: string | null, limit: number): Promise<LogPart | 'gone'>
  /** All or nothing; null, and nothing is added, where a mark is another one. Resolves with what changed of alarms. */
  keepRead(read: ReadUp): Promise<readonly AlarmTurn[] | null>
}
