/**
 * NAME      orphans - body files that no row names
 * DESCRIPTION
 *   A crash between a file and its row leaves one, and so does a crash between a
 *   dropped row and its file. What is younger than an hour may belong to an
 *   accept that is running here or in another process, and stays; so does what
 *   this process is writing, however the clock was set meanwhile.
 */
import type { BodyFiles } from './files.js'

const YOUNG_MS = 3600_000

interface OrphanParts {
  readonly files: BodyFiles
  /** Which of these ids have a row that names their file. */
  readonly named: (ids: readonly string[]) => ReadonlySet<string>
  /** Being accepted by this process at the moment. */
  readonly inFlight: ReadonlySet<string>
}

/** Resolves with the number of files removed. */
export const removeOrphans = async (
  { files, named, inFlight }: OrphanParts,
  now: number,
): Promise<number> => {
  let removed = 0
  for (const shard of await files.shards()) {
    const { ids, drafts } = await files.olderThan(shard, now - YOUNG_MS)
    for (const name of drafts) {
      if (inFlight.has(name.split('.')[0] ?? '')) continue
      await files.dropDraft(shard, name)
      removed++
    }
    const known = named(ids)
    for (const id of ids) {
      if (known.has(id) || inFlight.has(id)) continue
      await files.drop(id)
      removed++
    }
  }
  return removed
}
