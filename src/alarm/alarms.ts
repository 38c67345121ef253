/**
 * NAME      alarms - follows the log, and has the rates of each workspace judged
 * DESCRIPTION
 *   Reads the log from the mark that is stored with the counts, counts (tally.ts)
 *   and has the store add, judge, tell and hold in one commit: what a crash cuts off is
 *   read again, and counts once. With nothing new it still asks once a minute,
 *   since an alarm ends by time.
 *   A first start counts from now on. Where the log was cut off meanwhile, it goes on from its oldest mark.
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { repeated, type Service } from '../base/service.js'
import { overIn } from '../base/time/trouble.js'
import type { EventLog, LogRow } from '../store/port/log.js'
import { alarmText } from '../store/port/watch/alarms.js'
import type { AlarmTurn, Watch } from '../store/port/watch/watch.js'
import { COUNTED, tally } from './tally.js'

const LOOK_MS = 1_000
const PAGE = 1_000
/** Records that one commit counts at most. */
const MOST = 20_000
const IDLE_MS = 60_000

interface AlarmsParts {
  readonly store: Pick<Watch, 'alarmMark' | 'foldAlarms'> & Pick<EventLog, 'follow' | 'logEnds'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
}

interface Read {
  readonly rows: readonly LogRow[]
  readonly mark: string
  readonly isEnd: boolean
}

/** What comes after `from`, as much as one commit counts. */
const readFrom = async (store: AlarmsParts['store'], from: string): Promise<Read> => {
  const rows: LogRow[] = []
  let mark = from
  for (let n = 0; n < MOST / PAGE; n++) {
    const found = await store.follow(COUNTED, mark, PAGE)
    if (found === 'gone') {
      mark = (await store.logEnds()).oldest
      continue
    }
    rows.push(...found.rows)
    mark = found.mark
    if (found.isEnd) return { rows, mark, isEnd: true }
  }
  return { rows, mark, isEnd: false }
}

export const createAlarms = ({ store, clock, log }: AlarmsParts): Service => {
  /** On the tick clock. */
  let foldedAt = Number.NEGATIVE_INFINITY
  let foldedTo: string | null = null

  const tell = ({ workspaceId: workspace, alarm, raised, hold }: AlarmTurn): void => {
    if (raised === null) log.info({ workspace, alarm }, 'alarm over')
    else log.warn({ workspace, alarm, why: alarmText(alarm, raised), hold: hold?.id ?? null }, 'alarm raised')
  }

  /** True when more can be read at once. */
  const step = async (): Promise<boolean> => {
    const { newest } = await store.logEnds()
    const isIdle = clock.tick() - foldedAt >= IDLE_MS
    if (foldedTo === newest && !isIdle) return false
    const from = await store.alarmMark()
    const { rows, mark, isEnd } =
      from === null ? { rows: [], mark: newest, isEnd: true } : await readFrom(store, from)
    // of a backlog each part is judged by its own time
    const now = isEnd ? clock.now() : (rows.at(-1)?.createdAt ?? clock.now())
    const turns = await store.foldAlarms({ from, to: mark, counts: tally(rows), now })
    foldedAt = clock.tick()
    foldedTo = mark
    for (const turn of turns) tell(turn)
    return !isEnd
  }

  const turn = async (): Promise<number> => {
    const more = await step()
    return more ? 0 : LOOK_MS
  }

  return repeated('alarms', turn, {
    restMs: LOOK_MS,
    told: ({ message }) => log.error({ error: message }, 'alarms not judged'),
    over: overIn(log, 'alarms not judged'),
  })
}
