/**
 * NAME      exit - how a command ends
 *   Every way to fail has a number from sysexits.h and one line that names what was wrong and what to do. Scripts read
 *   the number, people the line; neither ever sees a stack trace, unless POSTERN_DEBUG asks for it. This is the only
 *   place that turns an error into words and a number.
 */

import { causesOf, Fault, type FaultCode, SYSTEM_WORDS } from '../base/fault.js'
import { DataFolderError } from '../base/folder.js'
import { ListenError } from '../base/listen.js'
import { LooseModeError } from '../base/secret.js'

export const EXITS = {
  0: 'done',
  1: 'healthcheck: not well',
  2: 'apply --dry-run: there is something to do',
  64: 'usage: the command line is wrong',
  65: 'bad input: a value, a file or a reference is wrong',
  69: 'a peer is unavailable: an upstream, or the daemon',
  70: 'a bug in Postern',
  73: 'a file cannot be created',
  74: 'a file cannot be read or written, or is damaged',
  75: 'not now: try again later',
  77: 'permission denied, or a credential was refused',
  78: 'the configuration is wrong',
} as const

export type ExitCode = keyof typeof EXITS

/** A failure that the command line means: printed as it is, after `postern: `. */
export class Refusal extends Error {
  readonly exit: ExitCode

  constructor(exit: ExitCode, message: string) {
    super(message)
    this.exit = exit
  }
}

export const usage = (message: string): Refusal => new Refusal(64, message)
export const badInput = (message: string): Refusal => new Refusal(65, message)

const REMEDIES: Partial<Record<FaultCode, string>> = {
  'workspace.not_found': 'postern workspace list shows what there is',
  'egress_pool.not_found': 'postern pool list shows what there is',
  'api_key.not_found': 'postern key list shows what there is',
  'credential.not_found': 'postern credential list shows what there is',
  'email.not_found': 'postern email list shows the latest',
  'suppression.not_found': 'postern suppression list shows what there is',
  'incident.not_found': 'postern suppression incidents shows what there is',
  'domain.not_found': 'postern domain list shows what there is',
  'job.not_found': 'postern job list shows what there is',
  'hold.not_found': 'postern queue holds shows what there is',
  'webhook.not_found': 'postern webhook list shows what there is',
}

const exitOfFault = (fault: Fault): ExitCode => {
  const { http } = fault.row
  if (http === 401 || http === 403) return 77
  if (http === 429 || http === 503) return 75
  return http >= 500 ? 70 : 65
}

const wordsOfFault = (fault: Fault): string => {
  const fields = fault.options.errors ?? []
  if (fields.length > 0)
    return fields
      .map(({ field, message }) => `${field.replace(/^body\.(scope\.)?/, '')}: ${message}`)
      .join('\n')
  const remedy = REMEDIES[fault.code]
  const reason = fault.options.reason === undefined ? '' : ` (${fault.options.reason})`
  if (fault.cause instanceof Error) return `${fault.message}: ${causesOf(fault.cause)}; try again`
  return `${fault.message}${reason}${remedy === undefined ? '' : `; ${remedy}`}`
}

const UNREACHABLE = /^(ECONN|EHOST|ENET|ENOTFOUND|ETIMEDOUT|EAI_|EPIPE|UND_ERR|HPE_)/

/** System errors and SQLite's, by the code that both carry. */
const exitOfCode = (code: string): ExitCode | null => {
  if (code === 'EACCES' || code === 'EPERM' || code === 'SQLITE_READONLY' || code === 'SQLITE_PERM') return 77
  // of another thread, where it was a Fault
  if (code === 'service.unavailable') return 75
  if (UNREACHABLE.test(code)) return 69
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED') || code === 'EAGAIN') return 75
  if (code === 'EEXIST' || code === 'SQLITE_CANTOPEN' || code === 'EROFS') return 73
  if (code.startsWith('SQLITE_') || /^E(NOENT|ISDIR|NOTDIR|IO|NOSPC|MFILE|NFILE|FBIG|DQUOT)$/.test(code))
    return 74
  return null
}

/** Errors of lower floors that bring no code of the two kinds above, by their class name. */
const NAMED: Readonly<Record<string, ExitCode>> = {
  OutageError: 74,
  ConfigError: 78,
  SetupError: 78,
  PepperError: 78,
  DamagedFileError: 74,
  StoreBusyError: 75,
  TakenOverError: 75,
  DatabaseAwayError: 75,
  ConnectionLostError: 75,
  DatabaseRefusedError: 78,
  MoveRefusedError: 65,
  NewerDatabaseError: 78,
  OlderDatabaseError: 78,
  DriverMissingError: 78,
  StoreFailed: 74,
}

/** A port that is taken may be free later; one that is out of reach stays so. */
const LISTENING: Readonly<Record<string, ExitCode>> = { EADDRINUSE: 75, EACCES: 77 }

/** `postern.yaml: no such file or folder`, without the system's jargon where we know better. */
const wordsOfSystem = ({ code = '', message, path, ...rest }: NodeJS.ErrnoException): string => {
  const { address, port } = rest as { address?: string; port?: number }
  const where = path ?? (address === undefined ? undefined : `${address}:${port}`)
  const said = SYSTEM_WORDS[code]
  return where === undefined || said === undefined ? message || code : `${where}: ${said}`
}

/** Where SQLite says neither which file nor what to do. */
const UNPLACED = /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|READONLY|PERM|IOERR)/
/** Nor here. */
const FULL = 'the disk of data_dir is full; free some of it, then try again'
const SEE_DOCTOR = '; postern doctor names the file and what mends it'

interface Ending {
  readonly exit: ExitCode
  /** One line, or one per mistake; without the leading `postern: ` of the first. */
  readonly message: string
}

export const endingOf = (error: unknown): Ending => {
  if (error instanceof Refusal) return { exit: error.exit, message: error.message }
  if (error instanceof Fault) return { exit: exitOfFault(error), message: wordsOfFault(error) }
  if (error instanceof ListenError) return { exit: LISTENING[error.code] ?? 78, message: error.message }
  if (error instanceof LooseModeError) return { exit: 77, message: error.message }
  if (error instanceof DataFolderError) {
    return { exit: /^E(ACCES|PERM)$/.test(error.code) ? 77 : 73, message: error.message }
  }
  if (!(error instanceof Error)) return { exit: 70, message: `unexpected: ${String(error)}` }
  if (error.name === 'AbortError') return { exit: 64, message: 'nothing was changed' } // ^D at a question
  const named = NAMED[error.name] ?? NAMED[error.constructor.name]
  if (named !== undefined) return { exit: named, message: error.message }
  const cause = error.cause instanceof Error ? error.cause : error
  const { code } = cause as NodeJS.ErrnoException
  if (`${code}`.startsWith('SQLITE_FULL')) return { exit: 74, message: FULL }
  const exit = typeof code === 'string' ? exitOfCode(code) : null
  if (exit !== null)
    return { exit, message: wordsOfSystem(cause) + (UNPLACED.test(`${code}`) ? SEE_DOCTOR : '') }
  return { exit: 70, message: `unexpected: ${error.message} (a bug; POSTERN_DEBUG=1 shows where)` }
}
