/**
 * NAME      throttles - the mails at hand in fair order, and the pace of each recipient domain
 *   A backlog is what one pool has leased and not begun. Workspaces take turns, each with its own queue in order of
 *   arrival, so a tenant's flood delays another's single mail by one message, not by the flood. Mails that failed over to
 *   another upstream go first: they have waited already. Where recipients may share a transaction, those of one message
 *   that wait together become one item.
 *   Throttles know nothing of a domain until a reply complains. From then on they bound the messages at once to it,
 *   within one pool, and hold a few mails aside for when there is room; the rest go back to the store, spread over the
 *   time that they will take, so that other domains are not kept waiting and memory does not grow. Taken messages widen
 *   the bound until it no longer matters.
 *   What a reply says is read from a table, from the top; the first line whose code, enhanced code and text all fit
 *   decides. It is asked only for 4xx replies to MAIL, RCPT, DATA and the final dot, and speaks about the recipient's
 *   domain in that pool, never about the mail, which is retried as its own reply says.
 *     nothing   the reply is about one mailbox or one mail: the pace stays
 *     fewer     halve the number of messages at once
 *     pause     send nothing for a while, then begin again with one at a time
 *   A pause lasts as long as the text asks ("try again in 300 seconds"), else `seconds`, doubled for each pause in a row.
 */
import type { Claimed } from '../lifecycle/facts.js'
import type { Reply } from '../mail/reply.js'
import { type AttemptEnd, askedWaitMs } from '../outcome/reply.js'
import { isPlain } from './dialogue/envelope.js'

/** Every server takes so many recipients at once (RFC 5321, 4.5.3.1.8). */
const MOST_TOGETHER = 100

export interface RelayItem {
  readonly claimed: Claimed
  /** Further recipients of the same message, in the same transaction. */
  readonly others: Claimed[]
  /** Members that failed this mail on this attempt. */
  readonly tried: Set<string>
  /** Those of them that it left in a hurry, and when, on the tick clock. */
  readonly left: Map<string, number>
  /** What happened there, a line each, for the record. */
  readonly before: string[]
  /** How the last of them failed. */
  last: AttemptEnd | null
  /** True when a kept connection was found dead under this mail; a second time counts as a failure. */
  stale: boolean
}

const itemOf = (claimed: Claimed, others: Claimed[] = []): RelayItem => ({
  claimed,
  others,
  tried: new Set(),
  left: new Map(),
  before: [],
  last: null,
  stale: false,
})

/** The first of its recipients apart from the others, as one of nobody has it: another item. */
export const split = (item: RelayItem, count: number): readonly [RelayItem | null, RelayItem | null] => {
  const all = recipientsOf(item)
  if (count >= all.length) return [item, null]
  const part = ([claimed, ...others]: readonly Claimed[]): RelayItem | null =>
    claimed === undefined
      ? null
      : {
          ...{ ...item, claimed, others },
          ...{ tried: new Set(item.tried), left: new Map(item.left), before: [...item.before] },
        }
  return count === 0 ? [null, item] : [part(all.slice(0, count)), part(all.slice(count))]
}

export const recipientsOf = ({ claimed, others }: RelayItem): readonly Claimed[] =>
  others.length === 0 ? [claimed] : [claimed, ...others]

interface Turn {
  readonly items: RelayItem[]
  next: number
}

export class Backlog {
  readonly #turns = new Map<string, Turn>()
  readonly #again: RelayItem[] = []
  /** Where a further recipient of an email could join, by email. */
  readonly #joinable = new Map<string, RelayItem>()
  size = 0

  /** `shared`: recipients of one message go together. */
  add(claimed: Claimed, shared = false): void {
    const joins = shared && isPlain(claimed.address)
    const waiting = joins ? this.#joinable.get(claimed.emailId) : undefined
    if (waiting !== undefined && waiting.others.length + 1 < MOST_TOGETHER) {
      waiting.others.push(claimed)
      return
    }
    const item = itemOf(claimed)
    if (joins) this.#joinable.set(claimed.emailId, item)
    const turn = this.#turns.get(claimed.workspaceId)
    if (turn === undefined) this.#turns.set(claimed.workspaceId, { items: [item], next: 0 })
    else turn.items.push(item)
    this.size++
  }

  /** For another try of the same attempt. */
  addAgain(item: RelayItem): void {
    this.#again.push(item)
    this.size++
  }

  /** Those waiting for another upstream, out of the line. */
  takeAgain(): RelayItem[] {
    this.size -= this.#again.length
    return this.#again.splice(0)
  }

  /** The workspace whose turn it is. */
  get first(): string | undefined {
    return this.#turns.keys().next().value
  }

  take(): RelayItem | null {
    for (const [workspaceId, turn] of this.#turns) {
      const item = turn.items[turn.next++]
      if (item === undefined) break
      // to the end of the line, or out of it
      this.#turns.delete(workspaceId)
      if (turn.next < turn.items.length) this.#turns.set(workspaceId, turn)
      if (turn.next >= 1_024) {
        turn.items.splice(0, turn.next)
        turn.next = 0
      }
      this.size--
      if (this.#joinable.get(item.claimed.emailId) === item) this.#joinable.delete(item.claimed.emailId)
      return item
    }
    return null
  }

  /** Empties it. */
  takeAll(): RelayItem[] {
    const all = this.takeAgain()
    for (let item = this.take(); item !== null; item = this.take()) all.push(item)
    return all
  }
}

interface PaceRule {
  readonly name: string
  readonly codes?: RegExp
  readonly enhanced?: RegExp
  readonly text?: RegExp
  readonly does: 'nothing' | 'fewer' | 'pause'
  /** Of a pause whose text names no time. */
  readonly seconds: number
}

const rule = (
  name: string,
  does: PaceRule['does'],
  when: Pick<PaceRule, 'codes' | 'enhanced' | 'text'>,
  seconds = 0,
): PaceRule => ({ name, does, seconds, ...when })

export const PACE_RULES: readonly PaceRule[] = [
  // about one mailbox or one pair of addresses
  rule('greylisting', 'nothing', {
    text: /gr[ae]y[- ]?list|postgrey|first (?:time|seen)|unknown sender.*delay/i,
  }),
  rule('mailbox', 'nothing', { enhanced: /^4\.[12]\./ }),
  rule('mailbox-text', 'nothing', {
    text: /mailbox.*(?:full|busy|locked|unavailable)|(?:over|exceeded).{0,12}quota|out of storage/i,
  }),
  // too many at once
  rule('connections', 'fewer', {
    text: /too many (?:concurrent|simultaneous|open|smtp)?\s*(?:connections|sessions)|max(?:imum)?\s.{0,20}connections|concurren(?:t|cy)/i,
  }),
  rule('recipients', 'fewer', { text: /too many recipients/i }),
  // too much in a time
  rule(
    'rate',
    'pause',
    {
      text: /rate[- ]?limit|throttl|too (?:fast|quick)|slow(?:ing)? down|too (?:many|much) (?:messages|mails?|e-?mails?|requests|traffic)|(?:sending|message|mail) rate|unexpected volume|excessive|limit (?:has been )?exceeded|exceeded.{0,30}(?:rate|limit|allowed)/i,
    },
    60,
  ),
  rule(
    'reputation',
    'pause',
    {
      text: /user complaints|reputation|temporarily (?:blocked|deferred|rejected)|\bTSS?\d\d\b|unusual(?:ly)?\b/i,
    },
    300,
  ),
  // the host has enough to do
  rule('load', 'fewer', {
    text: /load (?:is )?too high|(?:system|server|service).{0,30}(?:busy|overload|unavailable|resources)|insufficient.{0,20}resources|try again later.{0,20}busy/i,
  }),
  rule(
    'named-time',
    'pause',
    {
      text: /(?:try|retry|wait|come back|again).{0,40}\d+\s*(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/i,
    },
    60,
  ),
  // by number alone
  rule('closing', 'pause', { codes: /^421$/, enhanced: /^4\.7\./ }, 60),
  rule('system', 'fewer', { enhanced: /^4\.(?:3\.2|4\.5)$/ }),
  rule('shutting', 'fewer', { codes: /^421$/ }),
]

/** The line that fits a reply, or null. */
export const paceOf = (reply: Reply, rules: readonly PaceRule[] = PACE_RULES): PaceRule | null => {
  if (reply.code < 400 || reply.code >= 500) return null
  const fits = (pattern: RegExp | undefined, text: string) => pattern?.test(text) ?? true
  return (
    rules.find(
      ({ codes, enhanced, text }) =>
        fits(codes, String(reply.code)) && fits(enhanced, reply.enhanced ?? '') && fits(text, reply.text),
    ) ?? null
  )
}

const MOST_ASIDE = 64
/** A bound this wide is none. */
const FREE = 64
const LONGEST_PAUSE_MS = 15 * 60_000
const SOON_MS = 5_000
const LATEST_MS = 5 * 60_000
/** Without complaint for so long, and idle: forgotten. */
const FORGET_MS = 30 * 60_000
const LONGEST_SAID = 500
const STAGES = new Set(['mail', 'rcpt', 'data', 'dot'])

interface Pace {
  limit: number
  /** Nothing before that. */
  until: number
  /** When the next mail that is given back may come again. */
  slot: number
  pauses: number
  heardAt: number
  /** When it was first slowed down. */
  readonly since: number
  /** The reply that slowed it down last, and what our table calls that. */
  said: string
  rule: string
  readonly aside: RelayItem[]
}

/** A recipient domain that has a slower pace in a pool. */
export interface SlowedDomain {
  readonly poolId: string
  readonly domain: string
  /** The end of its pause; long ago where it has none. */
  readonly until: number
  readonly since: number
  /** How many messages it may have at once. */
  readonly atOnce: number
  readonly rule: string
  readonly said: string
}

interface ThrottleParts {
  readonly tick: () => number
  readonly giveBack: (claimed: Claimed, delayMs: number) => void
  readonly log: (fact: string, fields: Readonly<Record<string, string | number>>) => void
  readonly rules?: readonly PaceRule[]
}

const domainOf = ({ address }: Claimed): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase()
const keyOf = (claimed: Claimed): string => `${claimed.poolId} ${domainOf(claimed)}`
const keysOf = (item: RelayItem): ReadonlySet<string> | readonly string[] =>
  item.others.length === 0 ? [keyOf(item.claimed)] : new Set(recipientsOf(item).map(keyOf))

export class Throttles {
  readonly #parts: ThrottleParts
  readonly #rules: readonly PaceRule[]
  readonly #paces = new Map<string, Pace>()
  /** How many mails had to wait. */
  deferred = 0
  /** Messages under way, by pool and domain. */
  readonly #under = new Map<string, number>()

  constructor(parts: ThrottleParts) {
    this.#parts = parts
    this.#rules = parts.rules ?? PACE_RULES
  }

  /** How many domains are slowed down, each pool for itself. */
  get size(): number {
    return this.#paces.size
  }

  /** The next mail of a pool that may begin now. Mails that may not are put aside or given back. */
  next(poolId: string, backlog: Backlog): RelayItem | null {
    for (const [key, pace] of this.#paces) {
      if (pace.aside.length > 0 && key.startsWith(`${poolId} `) && this.#mayBegin(key, pace))
        return pace.aside.shift() ?? null
    }
    for (let item = backlog.take(); item !== null; item = backlog.take()) {
      if (this.#paces.size === 0) return item
      const free = this.#mayBeginOf(item)
      if (free !== null) return free
    }
    return null
  }

  /** Of an item, what may begin now; the rest is put aside or given back. */
  #mayBeginOf(item: RelayItem): RelayItem | null {
    const free: Claimed[] = []
    for (const claimed of recipientsOf(item)) {
      const key = keyOf(claimed)
      const pace = this.#paces.get(key)
      if (pace === undefined || this.#mayBegin(key, pace)) free.push(claimed)
      else this.#defer(item.others.length === 0 ? item : itemOf(claimed), pace)
    }
    const [first, ...others] = free
    if (first === undefined) return null
    return others.length === item.others.length ? item : itemOf(first, others)
  }

  #mayBegin(key: string, { until, limit }: Pace): boolean {
    return this.#parts.tick() >= until && (this.#under.get(key) ?? 0) < Math.max(1, Math.floor(limit))
  }

  #defer(item: RelayItem, pace: Pace): void {
    this.deferred++
    const now = this.#parts.tick()
    if (now >= pace.until && pace.aside.length < MOST_ASIDE) {
      pace.aside.push(item)
      return
    }
    pace.slot = Math.max(pace.slot, pace.until, now + SOON_MS) + 1_000 / pace.limit
    const latest = Math.max(pace.until, now + SOON_MS) + LATEST_MS
    if (pace.slot > latest) pace.slot = latest
    this.#parts.giveBack(item.claimed, pace.slot - now)
  }

  /** The domains that are kept waiting now, at most so many; `until` and `since` are on the tick clock. */
  slow(most: number): SlowedDomain[] {
    const now = this.#parts.tick()
    const slow: SlowedDomain[] = []
    for (const [key, { until, slot, aside, limit, since, rule, said }] of this.#paces) {
      if (until <= now && slot <= now && aside.length === 0) continue
      const [poolId = '', domain = ''] = key.split(' ')
      const atOnce = Math.max(1, Math.floor(limit))
      if (slow.push({ poolId, domain, until, since, atOnce, rule, said }) >= most) break
    }
    return slow
  }

  /** Whether mail of this pool stands aside. */
  holds(poolId: string): boolean {
    for (const [key, { aside }] of this.#paces) {
      if (aside.length > 0 && key.startsWith(`${poolId} `)) return true
    }
    return false
  }

  /** Takes what stands aside of a pool, out of the line. */
  takeAside(poolId: string): RelayItem[] {
    const taken: RelayItem[] = []
    for (const [key, { aside }] of this.#paces) {
      if (key.startsWith(`${poolId} `)) taken.push(...aside.splice(0))
    }
    return taken
  }

  begun(item: RelayItem): void {
    for (const key of keysOf(item)) this.#under.set(key, (this.#under.get(key) ?? 0) + 1)
  }

  /** A message has come to an end; `ends` is empty when nothing was said about it. */
  ended(item: RelayItem, ends: readonly AttemptEnd[]): void {
    for (const key of keysOf(item)) {
      const end = ends.length < 2 ? ends[0] : this.#worst(ends, key)
      // the sandbox plays its refusals for the mail, not for the pace
      if (end?.reply != null && STAGES.has(end.stage) && item.claimed.mode === 'live') this.#heard(key, end)
      const left = (this.#under.get(key) ?? 1) - 1
      if (left <= 0) this.#under.delete(key)
      else this.#under.set(key, left)
    }
  }

  /** What was said to several recipients of one domain is one word about its pace. */
  #worst(ends: readonly AttemptEnd[], key: string): AttemptEnd | undefined {
    const said = ends.filter(({ claimed }) => keyOf(claimed) === key)
    return said.find(({ reply }) => reply !== null && paceOf(reply, this.#rules) !== null) ?? said[0]
  }

  #heard(key: string, { reply, stage }: AttemptEnd): void {
    if (reply === null) return
    if (stage === 'dot' && reply.code < 300) {
      this.#taken(key)
      return
    }
    const rule = paceOf(reply, this.#rules)
    if (rule === null || rule.does === 'nothing') return
    const now = this.#parts.tick()
    const pace = this.#paces.get(key) ?? this.#begin(key)
    const limit = Math.max(1, Math.floor(Math.min(pace.limit, this.#under.get(key) ?? 1) / 2))
    // those that were under way together complain together: that is one complaint
    if (now < pace.until) return
    pace.heardAt = now
    pace.rule = rule.name
    pace.said = [reply.code, reply.enhanced, reply.text].filter(Boolean).join(' ').slice(0, LONGEST_SAID)
    if (rule.does === 'fewer') pace.limit = limit
    else {
      const asked = askedWaitMs(reply.text)
      const own = Math.min(rule.seconds * 1_000 * 2 ** Math.min(pace.pauses++, 8), LONGEST_PAUSE_MS)
      pace.limit = 1
      pace.until = now + (asked > 0 ? asked : own)
      for (const item of pace.aside.splice(0)) this.#defer(item, pace)
    }
    const [pool = '', domain = ''] = key.split(' ')
    const wait = Math.max(0, Math.round((pace.until - now) / 1_000))
    this.#parts.log('slowed down', { pool, domain, rule: rule.name, at_once: pace.limit, pause_s: wait })
  }

  #begin(key: string): Pace {
    const since = this.#parts.tick()
    const pace: Pace = {
      ...{ limit: FREE, until: 0, slot: 0, pauses: 0, heardAt: 0, since },
      ...{ said: '', rule: '', aside: [] },
    }
    this.#paces.set(key, pace)
    return pace
  }

  #taken(key: string): void {
    const pace = this.#paces.get(key)
    if (pace === undefined) return
    pace.pauses = 0
    pace.slot = 0
    pace.limit += 1 / pace.limit
    const calm = this.#parts.tick() - pace.heardAt > FORGET_MS
    if (pace.aside.length === 0 && (calm || pace.limit >= FREE)) {
      this.#paces.delete(key)
      const [pool = '', domain = ''] = key.split(' ')
      this.#parts.log('full speed again', { pool, domain })
    }
  }
}
