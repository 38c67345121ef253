/**
 * NAME      body-store - the bodies of an open store
 * DESCRIPTION
 *   Puts large bodies into files ahead of the accept that names them, finds a
 *   body wherever it is, and takes files away when their rows are gone. A disk
 *   that is full is a refusal; any other error of the disk means that nothing
 *   more can be promised, as in the database itself.
 */
import { Fault } from '../../../base/fault.js'
import { type AcceptResult, isStored, type NewEmail } from '../../../lifecycle/facts.js'
import { MissingBodyError } from '../../port/upkeep.js'
import type { Statements } from '../read/statements.js'
import { createBodyFiles, LARGE } from './files.js'
import { removeOrphans } from './orphans.js'

const FULL = /^(ENOSPC|EDQUOT)$/
/** Of this process or of its limits, and gone the next time. */
const PASSING = /^(EMFILE|ENFILE|EAGAIN|ENOMEM)$/
const EVERY_MS = 3600_000

/** Ids of the mails whose bodies are in files, with their sizes. */
type Beside = Readonly<Record<string, number>>

type Body = Pick<NewEmail, 'id' | 'raw'>

export interface BodyStore {
  /** Accepts a batch; if it has large bodies, these are in their files before `accept` is called. */
  accept(
    batch: { readonly mails: readonly Body[] },
    accept: (beside?: Beside) => Promise<AcceptResult>,
  ): Promise<AcceptResult>
  /** The same for a carried body, which another process may be bringing in too: its file stays, whatever becomes of this. */
  carry<R>(one: Body, accept: (size: number | null) => Promise<R>): Promise<R>
  body(emailId: string): Promise<Uint8Array | null>
  /** The rows of these mails are gone. */
  drop(emailIds: readonly string[]): Promise<void>
  /** Removes orphans, if it is time to look for them. */
  tidy(now: number): Promise<number>
  /** Files that rows name and that are not there. */
  missing(): Promise<readonly string[]>
}

const MISSING_SHOWN = 10

/** `broken` hears of a disk that failed; `pass` is for crash tests. */
export const createBodyStore = (
  dataDir: string,
  sql: Statements,
  broken: (error: Error) => void,
  pass: (point: string) => void = () => {},
): BodyStore => {
  const files = createBodyFiles(dataDir)
  const inFlight = new Set<string>()
  let lookedAt = Number.NEGATIVE_INFINITY

  const isNamed = (id: string): boolean =>
    sql('SELECT 1 FROM bodies WHERE email_id = ? AND beside = 1').get(id) !== undefined

  const failed = (error: NodeJS.ErrnoException): Error => {
    const { code = '' } = error
    if (FULL.test(code) || PASSING.test(code)) return new Fault('service.unavailable', { retryAfter: 5 })
    broken(error)
    return error
  }

  /** What was refused takes no room; whose fate is unknown is left to orphans.ts. */
  const takeBack = async (mails: readonly Body[]): Promise<void> => {
    for (const { id } of mails) if (!isNamed(id)) await files.drop(id).catch(() => {})
  }

  const write = async (large: readonly Body[], isShared: boolean): Promise<void> => {
    pass('body.before-write')
    // one after the other: the system has few threads, and others want them too
    for (const { id, raw } of large) {
      await files.write(id, raw, isShared).catch((error: NodeJS.ErrnoException) => {
        throw failed(error)
      })
    }
    pass('body.after-write')
  }

  const acceptLarge = async (
    large: readonly Body[],
    accept: (beside: Beside) => Promise<AcceptResult>,
  ): Promise<AcceptResult> => {
    for (const { id } of large) inFlight.add(id)
    try {
      await write(large, false)
      const result = await accept(Object.fromEntries(large.map(({ id, raw }) => [id, raw.byteLength])))
      if (!isStored(result)) await takeBack(large)
      return result
    } catch (error) {
      if (error instanceof Fault) await takeBack(large)
      throw error
    } finally {
      for (const { id } of large) inFlight.delete(id)
    }
  }

  return {
    accept(batch, accept) {
      const large = batch.mails.filter(({ raw }) => raw.byteLength > LARGE)
      return large.length === 0 ? accept() : acceptLarge(large, accept)
    },

    async carry(one, accept) {
      const { byteLength } = one.raw
      if (byteLength <= LARGE) return accept(null)
      inFlight.add(one.id)
      try {
        await write([one], true)
        return await accept(byteLength)
      } finally {
        inFlight.delete(one.id)
      }
    },

    async body(emailId) {
      const find = sql(
        'SELECT b.raw, b.beside FROM emails e JOIN bodies b ON b.n = e.body AND b.email_id = e.id WHERE e.id = ?',
      )
      const row = find.get(emailId)
      if (row === undefined) return null
      if (row.beside !== 1) return row.raw as Uint8Array
      try {
        return await files.read(emailId)
      } catch (error) {
        if (error instanceof MissingBodyError && find.get(emailId) === undefined) return null // retention was faster
        throw error
      }
    },

    async drop(emailIds) {
      if (emailIds.length > 0) pass('body.before-drop')
      for (const id of emailIds) await files.drop(id).catch(() => {}) // an orphan then, for the next look
    },

    async tidy(now) {
      if (now - lookedAt < EVERY_MS && now >= lookedAt) return 0
      lookedAt = now
      const named = (ids: readonly string[]): ReadonlySet<string> => new Set(ids.filter(isNamed))
      return removeOrphans({ files, named, inFlight }, now)
    },

    async missing() {
      const gone: string[] = []
      const rows = sql('SELECT email_id FROM bodies WHERE beside = 1').all()
      for (const { email_id: id } of rows) {
        if (!(await files.has(id as string))) gone.push(id as string)
        if (gone.length === MISSING_SHOWN) break
      }
      return gone.map((id) => `the body of ${id} is missing in bodies/`)
    },
  }
}
