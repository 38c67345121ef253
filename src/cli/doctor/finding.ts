/**
 * NAME      finding - what a check of doctor found
 *   `fail` keeps Postern from doing its job, `warn` will one day; each brings the
 *   one command or setting that mends it, and the exit code that belongs to it.
 */
import type { Config } from '../../config/config.js'
import type { ExitCode } from '../exit.js'

export type FindingResult = 'ok' | 'warn' | 'fail'

export interface Finding {
  /** What was looked at, in a word or two. */
  readonly check: string
  readonly result: FindingResult
  readonly detail: string
  readonly remedy: string | null
  readonly exit: ExitCode
}

export interface DoctorFacts {
  /** With the addresses of the running daemon. */
  readonly config: Config
  /** As it stands in the file. */
  readonly written: Config
  /** As named on the command line, for the remedies. */
  readonly configFile: string | undefined
  /** Whether a daemon holds the lock of the data folder. */
  readonly running: boolean
  /** Asks this name server instead of the system's, `host:port`. */
  readonly resolver: string | undefined
  readonly now: number
}

export type Check = (facts: DoctorFacts) => Promise<readonly Finding[]>

export const ok = (check: string, detail: string): Finding => ({
  check,
  result: 'ok',
  detail,
  remedy: null,
  exit: 0,
})

export const warn = (check: string, detail: string, remedy: string): Finding => ({
  check,
  result: 'warn',
  detail,
  remedy,
  exit: 0,
})

export const fail = (check: string, detail: string, remedy: string, exit: ExitCode): Finding => ({
  check,
  result: 'fail',
  detail,
  remedy,
  exit,
})
