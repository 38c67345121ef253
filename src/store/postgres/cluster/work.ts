/**
 * NAME      work - of each kind that one daemon does, who does it
 * DESCRIPTION
 *   Whoever finds nobody at it takes it, and has it for as long as its writer lives: what it writes then is fenced like
 *   all that it writes. Nothing has to be given back; who leaves, or is taken over, has it no more.
 */
import { type Asking, first, run } from '../../sql/query.js'

const HOLDER = 'SELECT k.boot FROM work k JOIN writers w ON w.boot = k.boot WHERE k.kind = ?'
const TAKE = `INSERT INTO work (kind, boot) VALUES (?, ?)
  ON CONFLICT (kind) DO UPDATE SET boot = excluded.boot`

/** Null: nobody. */
function* holder(kind: string): Asking<number | null> {
  return ((yield* first(HOLDER, kind))?.boot ?? null) as number | null
}

/** Those who come at the same time follow one another. */
function* take(kind: string, boot: number): Asking<boolean> {
  const found = yield* holder(kind)
  if (found === null) yield* run(TAKE, kind, boot)
  return found === null || found === boot
}

interface WorkParts {
  /** Of the writer. */
  readonly boot: number
  write<T>(verb: () => Asking<T>): Promise<T>
  read<T>(verb: () => Asking<T>): Promise<T>
}

export const createWork =
  ({ boot, write, read }: WorkParts) =>
  async (kind: string): Promise<boolean> => {
    const found = await read(() => holder(kind))
    return found === null ? write(() => take(kind, boot)) : found === boot
  }
