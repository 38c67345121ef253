/**
 * NAME      reader - reads the log once, for all who keep something of it
 *   Statistics, alarms and the index of words are handed the same records, in the order of the log. What they make of
 *   them and the marks that they come to are one commit, which is refused where a mark has moved: after a crash, or
 *   beside another reader, each record is counted once.
 *   They are read for together while they stand at the same mark, as they nearly always do. One that is behind (the
 *   index, of an older database; one that failed) is read for by itself, up to where the others stand. One that fails
 *   rests for a while and the others go on.
 * NOTES
 *   Test mail stands in the same log, and nothing is read before its turn. Beside a flood of it a look takes some hundred
 *   milliseconds, and as much of the rest is left out as keeps what live mail waits at what it is without the flood. A
 *   look that takes longer, since records come faster than they are read, makes test mail rest (base/give-way.ts). That
 *   slows the flood and is no bound: records may still come faster than they are read. Live mail is never slowed.
 *   With nothing new alarms are judged once a minute, since they end by time. Their first start counts from now on.
 *   Where the log is gone before it was counted, its numbers are missing, and the log of the daemon says so.
 */
import { tally } from '../alarm/tally.js'
import type { Clock } from '../base/clock.js'
import type { GiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import { createTrouble, overIn, repeated, type Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import { liveKeys } from '../keys/return-path.js'
import { compare, readMark } from '../lifecycle/page.js'
import { providerOf } from '../mail/mailbox-provider.js'
import type { CategoryRule } from '../mail/report/category.js'
import { createIntake, type Recorded } from '../outcome/report.js'
import { logIncident } from '../outcome/suppress.js'
import { createReporter, type ReporterParts } from '../sandbox/reporter.js'
import { fold } from '../statistics/fold.js'
import type { ReachedStore } from '../store/open.js'
import { alarmText } from '../store/port/alarms.js'
import type { EventLog, LogRow } from '../store/port/log.js'
import type { Tenants } from '../store/port/tenants.js'
import type { AlarmTurn, LogPart, Reading, ReadPlaces } from '../store/port/watch.js'
import { createPosting } from '../webhook/webhooks.js'

interface ReaderParts {
  readonly store: Reading & Pick<EventLog, 'logEnds'> & Pick<Tenants, 'workspace'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Hears of a log that is read too slowly. */
  readonly way?: Pick<GiveWay, 'behind'>
}

/** Records of one part: some milliseconds of the writer. */
const PART = 500
/** What comes within it is read together: the disk is asked once, and nothing waits longer until it is read and kept. */
const LOOK_MS = 1_000
/** A look that takes longer waits for the next at the cost of what comes meanwhile: no rest is left to leave out. */
const LONG_MS = LOOK_MS / 4
/** Between two parts: others come first. */
const PAUSE_MS = 5
const IDLE_MS = 60_000

const ALL = ['statistics', 'alarms', 'search'] as const
type Reader = (typeof ALL)[number]

/** Those who stand at the same mark. */
interface Group {
  readonly who: readonly Reader[]
  readonly at: string
}

const inOrder = (a: Group, b: Group): number =>
  compare(readMark(a.at) ?? { ord: 0 }, readMark(b.at) ?? { ord: 0 })

const troublesOf = ({ log }: ReaderParts) => ({
  statistics: createTrouble({
    failed: ({ message }) => log.error({ event: 'statistics_failed', error: message }, 'not counted'),
    over: overIn(log, 'not counted'),
  }),
  alarms: createTrouble({
    failed: ({ message }) => log.error({ error: message }, 'alarms not judged'),
    over: overIn(log, 'alarms not judged'),
  }),
  search: createTrouble({
    failed: ({ message }) => log.error({ event: 'indexing_failed', error: message }, 'not indexed'),
    over: overIn(log, 'not indexed'),
  }),
})

class LogReader {
  readonly #parts: ReaderParts
  readonly #troubles
  readonly #restUntil = new Map<Reader, number>()
  /** All have come to it. */
  #readTo: string | null = null
  /** On the tick clock. */
  #judgedAt = Number.NEGATIVE_INFINITY
  #beganAt: number | null = null
  #nextAt = Number.NEGATIVE_INFINITY

  constructor(parts: ReaderParts) {
    this.#parts = parts
    this.#troubles = troublesOf(parts)
  }

  /** Answers how long to rest. */
  async turn(): Promise<number> {
    const { store, clock, way } = this.#parts
    const { oldest, newest } = await store.logEnds()
    if (newest === this.#readTo && !this.#isIdle()) return LOOK_MS
    const places = await store.readPlaces()
    const groups = this.#groupsAt({
      statistics: places.statistics ?? oldest,
      alarms: places.alarms ?? newest,
      search: places.search ?? '1',
    })
    let isMore = false
    for (const [i, group] of groups.entries()) {
      const until = groups[i + 1]?.at ?? null
      if (until === null) {
        // those who are ahead look no more often because somebody is behind
        if (i > 0 && clock.tick() < this.#nextAt) break
        this.#beganAt ??= clock.tick()
      }
      const more = await this.#readFor(group, places, until)
      isMore ||= more
      if (more || group.who.some(this.#rests)) continue
      // from here on they go together
      if (until !== null) return PAUSE_MS
      this.#looked()
      if (group.who.length === ALL.length) this.#readTo = newest
    }
    if (!isMore) return this.#rest()
    if (clock.tick() - (this.#beganAt ?? clock.tick()) >= LONG_MS) way?.behind()
    return PAUSE_MS
  }

  /**
   * All is read that there was. What comes at any time waits for half of the rest and of this look, and for the next look:
   * half a LOOK_MS on average, since three times what a look takes is left out of the rest.
   */
  #looked(): void {
    const now = this.#parts.clock.tick()
    const took = now - (this.#beganAt ?? now)
    this.#beganAt = null
    this.#nextAt = now + Math.max(PAUSE_MS, LOOK_MS - 3 * took)
  }

  #rest(): number {
    this.#beganAt = null
    const next = this.#nextAt - this.#parts.clock.tick()
    return next > 0 ? next : LOOK_MS
  }

  #isIdle(): boolean {
    return this.#parts.clock.tick() - this.#judgedAt >= IDLE_MS
  }

  readonly #rests = (one: Reader): boolean => this.#parts.clock.tick() < (this.#restUntil.get(one) ?? 0)

  /** In the order of the log, without those that rest. */
  #groupsAt(at: Readonly<Record<Reader, string>>): readonly Group[] {
    const awake = ALL.filter((one) => !this.#rests(one))
    const marks = [...new Set(awake.map((one) => at[one]))]
    return marks.map((mark) => ({ at: mark, who: awake.filter((one) => at[one] === mark) })).sort(inOrder)
  }

  /** True when there is more to read. Where it fails each is tried by itself, and rests when it fails again. */
  async #readFor(group: Group, places: ReadPlaces, until: string | null): Promise<boolean> {
    try {
      const more = await this.#readOn(group, places, until)
      for (const one of group.who) this.#troubles[one].succeeded()
      return more
    } catch (error) {
      let isMore = false
      for (const one of group.who)
        if (group.who.length > 1)
          isMore = (await this.#readFor({ ...group, who: [one] }, places, until)) || isMore
        else {
          this.#troubles[one].failed(error as Error)
          this.#restUntil.set(one, this.#parts.clock.tick() + LOOK_MS)
        }
      return isMore
    }
  }

  async #readOn({ who, at }: Group, places: ReadPlaces, until: string | null): Promise<boolean> {
    const { store, clock } = this.#parts
    const [counts, judges, indexes] = ALL.map((one) => who.includes(one))
    const part = await store.readLog(!indexes ? 'log' : counts || judges ? 'both' : 'mails', at, until, PART)
    const { rows, mails, mark: to, isEnd } = part === 'gone' ? await this.#skip(who) : part
    const isNews = to !== at || who.some((one) => places[one] === null)
    if (!isNews && !(judges && this.#isIdle())) return !isEnd
    // of a backlog each part is judged by its own time
    const now = isEnd && until === null ? clock.now() : (rows.at(-1)?.createdAt ?? clock.now())
    const turns = await store.keepRead({
      to,
      ...(counts && { statistics: { from: places.statistics, rows: await this.#count(rows) } }),
      ...(judges && { alarms: { from: places.alarms, counts: tally(rows), now } }),
      ...(indexes && part !== 'gone' && { search: { from: places.search, mails } }),
    })
    // somebody else reads, too: again, from where they stand now
    if (turns === null) return true
    if (judges) this.#judgedAt = clock.tick()
    for (const turn of turns) this.#tell(turn)
    return !isEnd
  }

  /** From where the log begins now; the index goes by mails, and needs none of it. */
  async #skip(who: readonly Reader[]): Promise<LogPart> {
    const { store, log } = this.#parts
    if (who.includes('statistics'))
      log.warn({ event: 'statistics_gap' }, 'records of the log are gone that statistics had not counted yet')
    return { rows: [], mails: [], mark: (await store.logEnds()).oldest, isEnd: false }
  }

  async #count(rows: readonly LogRow[]) {
    const tags = new Map<string, readonly string[]>()
    for (const { accountId, workspaceId, mail } of rows)
      if (workspaceId !== null && mail !== null && mail.tags.length > 0 && !tags.has(workspaceId)) {
        const workspace = await this.#parts.store.workspace(accountId, workspaceId)
        tags.set(workspaceId, workspace?.statisticsTags ?? [])
      }
    return fold(rows, { tagsOf: (workspaceId) => tags.get(workspaceId) ?? [], providerOf })
  }

  #tell({ workspaceId: workspace, alarm, raised, hold }: AlarmTurn): void {
    const { log } = this.#parts
    if (raised === null) log.info({ workspace, alarm }, 'alarm over')
    else log.warn({ workspace, alarm, why: alarmText(alarm, raised), hold: hold?.id ?? null }, 'alarm raised')
  }
}

export const createReader = (parts: ReaderParts): Service => {
  const reader = new LogReader(parts)
  return repeated('reader', () => reader.turn(), {
    restMs: LOOK_MS,
    told: ({ message }) => parts.log.error({ event: 'reader_failed', error: message }, 'log not read'),
    over: overIn(parts.log, 'log not read'),
  })
}

interface FollowerDeps {
  readonly store: ReachedStore
  readonly config: Config
  readonly pepper: Uint8Array
  readonly clock: Clock
  readonly log: Log
  readonly capture: boolean
  readonly rules: () => readonly CategoryRule[]
  readonly way: GiveWay
  /** What was made of a report of the sandbox; null of one that was given up. */
  readonly reported: (made: Recorded | null) => void
  /** How soon the sandbox sees what it took, and how long its `later` is; unsaid, as people see it best. */
  readonly sandbox?: Pick<ReporterParts, 'look' | 'pace'>
}

/** How often the sandbox looks into a database that is far, at rest. */
const FAR_MS = 500

/** Reports of the sandbox are read, believed and settled as those of others are. */
const sandboxReports = async (deps: FollowerDeps): Promise<Service> => {
  const { store, config, pepper, clock, log, capture, rules, way, reported } = deps
  const { hostname, bounce, relay } = config
  const { keys, look: lookAtKeys } = await liveKeys(store, pepper)
  const { ingest } = createIntake(
    {
      ...{ store, keys, lookAtKeys, clock, rules },
      ...{ domain: bounce.domain, lifetime: relay.lifetime, begun: logIncident(log) },
    },
    (made) => {
      reported(made)
      const { kind, tier, emailId: email, recipientId: recipient, status, suppressed, did } = made
      log.info({ kind, tier, email, recipient, status, suppressed, did }, 'report')
    },
  )
  return createReporter({
    ...{ store, ingest, keys, hostname, bounceDomain: bounce.domain, clock, log },
    ...{ way, mode: capture ? null : 'test' },
    lost: () => reported(null),
    ...(store.cluster().isShared && { look: FAR_MS }),
    ...deps.sandbox,
  })
}

/** In the order of starting. */
export const followersOf = async (deps: FollowerDeps): Promise<readonly Service[]> => {
  const { store, config, pepper, clock, log, way } = deps
  return [
    // before anything is handed to the sandbox
    await sandboxReports(deps),
    createReader({ store, clock, log, way }),
    createPosting({ store, config, pepper, clock, log, way }),
  ]
}
