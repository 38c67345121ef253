/**
 * NAME      settings - what the followers' thread is given, and what it says
 */
import type { Config } from '../config/config.js'
import type { Rule } from '../mail/report/category.js'
import type { Recorded } from '../outcome/report.js'
import type { SharedStore } from '../store/open.js'

export interface FollowerStart {
  /** A way to the store, handed over. */
  readonly store: SharedStore
  readonly config: Config
  /** Opens what is sealed, and signs marks. */
  readonly pepper: Uint8Array
  /** All mail goes to the sandbox, that of live keys, too. */
  readonly capture: boolean
  /** What `bounce.rules_file` holds. */
  readonly rules: readonly Rule[]
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string | undefined
}

export type ToFollowers =
  | { readonly say: 'stop' }
  /** Live mail comes in. */
  | { readonly say: 'live' }
  /** Read anew. */
  | { readonly say: 'rules'; readonly rules: readonly Rule[] }

export type FromFollowers =
  | { readonly say: 'ready' }
  | { readonly say: 'log'; readonly lines: readonly LogLine[] }
  /** Of the sandbox: what was made of its reports, and how many more were given up. */
  | { readonly say: 'reported'; readonly made: readonly Recorded[]; readonly lost: number }
  /** The log is read more slowly than records come. */
  | { readonly say: 'behind' }
  | { readonly say: 'stopped' }
