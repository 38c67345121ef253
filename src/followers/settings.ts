/**
 * NAME      settings - what the followers' thread is given, and what it says
 */
import type { Config } from '../config/config.js'
import type { SharedStore } from '../store/open.js'

export interface FollowerStart {
  /** A way to the store, handed over. */
  readonly store: SharedStore
  readonly config: Config
  /** Opens what is sealed, and signs marks. */
  readonly pepper: Uint8Array
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string | undefined
}

export type ToFollowers = { readonly say: 'stop' }

export type FromFollowers =
  | { readonly say: 'ready' }
  | { readonly say: 'log'; readonly lines: readonly LogLine[] }
  | { readonly say: 'stopped' }
