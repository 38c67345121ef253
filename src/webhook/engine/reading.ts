/**
 * NAME      reading - one log, read for many endpoints
 * DESCRIPTION
 *   Those that are at the head of the log share one reading of it, of their mode alone: a flood of test mail is not
 *   read for live mail. One that cannot
 *   take what was read goes on by itself, from where it stopped, and joins the others
 *   again when it has come to the end: its reading ended no earlier than theirs, so
 *   what they are offered next begins before it or where it is, and what it has
 *   already is passed over by its id.
 * NOTES
 *   Readings of one look come one after the other, which is what the above needs.
 *   Those that are behind get a part of each look's time and take turns for it.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Mode } from '../../lifecycle/page.js'
import { filterOf } from '../match.js'
import { type Deps, tell } from './deps.js'
import type { Poster } from './poster.js'

const AT_HEAD = 500
const BEHIND = 100
/** Milliseconds of each look for those that are behind. */
const SHARE_MS = 40

interface Reading {
  /** Reads on for all that have room; true when there is more to read. */
  look(posters: readonly Poster[]): Promise<boolean>
}

/** What it had not read is gone: it goes on from what is left, and its owner is told. */
const skipLost = async (deps: Deps, poster: Poster): Promise<void> => {
  const { oldest } = await deps.store.logEnds()
  const since = deps.signMark(oldest, poster.endpoint.accountId)
  poster.jump(oldest)
  await tell(deps, 'webhook.exhausted', poster.endpoint, { count: null, since })
}

/** One reading for all of a mode that are at the end of the log, from `head` on; where the next one begins. */
const readHead = async (
  { store }: Deps,
  mode: Mode,
  head: string | null,
  posters: readonly Poster[],
): Promise<{ readonly head: string | null; readonly isMore: boolean }> => {
  const present = posters.filter(({ isAtHead }) => isAtHead)
  if (present.length === 0 || head === null) return { head: null, isMore: false }
  const read = await store.follow({ types: null, mode }, head, AT_HEAD)
  if (read === 'gone') {
    // not while somebody follows it; whoever does finds its own way
    for (const poster of present) poster.isAtHead = false
    return { head: null, isMore: true }
  }
  for (const poster of present) poster.offer(read.rows, read.mark, read.isEnd)
  return { head: read.mark, isMore: !read.isEnd }
}

export const createReading = (deps: Deps, mode: Mode): Reading => {
  const { store, clock } = deps
  let head: string | null = null
  let next = 0

  /** One reading of one that is behind; true when it is still. */
  const readOn = async (poster: Poster): Promise<boolean> => {
    const read = await store.follow(filterOf(poster.endpoint), poster.readMark, Math.min(poster.room, BEHIND))
    if (read === 'gone') {
      await skipLost(deps, poster)
      return true
    }
    poster.offer(read.rows, read.mark, read.isEnd)
    if (!read.isEnd || poster.readMark !== read.mark) return true
    head ??= read.mark
    poster.join(read.rows)
    return false
  }

  return {
    async look(posters) {
      const read = await readHead(deps, mode, head, posters)
      head = read.head
      let { isMore } = read
      const behind = posters.filter(({ isAtHead, room }) => !isAtHead && room > 0)
      const end = clock.tick() + SHARE_MS
      for (let n = 0; n < behind.length; n++) {
        if (n > 0 && clock.tick() > end) {
          next += n
          return true
        }
        const poster = behind[(next + n) % behind.length] as Poster
        isMore = (await readOn(poster)) || isMore
        await turn()
      }
      return isMore
    },
  }
}
