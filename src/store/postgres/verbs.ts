/**
 * NAME      verbs - what the store port can do in PostgreSQL, by name
 *   Shared verbs as they are in store/sql/, and its own. Each is work that yields statements (sql/query.ts). A call is
 *   one transaction: the verb, and the entry of who called it. Calls of one order share their entry.
 */
import { systemClock } from '../../base/clock.js'
import { newId } from '../../base/id.js'
import { wellFormed } from '../../mail/encoding.js'
import type { EventNotice } from '../port/log.js'
import type { CarriedMail, HoldRow, QueueOwner } from '../port/operations.js'
import type { Acting } from '../rules/audit.js'
import { alarmFold, alarmReads, outageReads, outageWrites } from '../sql/alarms.js'
import { audited, auditReads, LOOKED } from '../sql/audit.js'
import {
  bounced,
  hardBounceWrites,
  type IncidentParts,
  incidentDecisions,
  incidentReads,
  softBounces,
} from '../sql/bounces.js'
import { carryReads } from '../sql/carry.js'
import { identityReads, identityWrites } from '../sql/identity.js'
import { jobReads, jobWrites } from '../sql/jobs.js'
import { storedId } from '../sql/log/places.js'
import { dsnReads, logReads } from '../sql/log/reads.js'
import { emailReads, mailReads } from '../sql/mails.js'
import { HOLDS, holdReads } from '../sql/orders.js'
import { timeOf } from '../sql/pages.js'
import { type AnsweredLater, type Asking, all, atOnce, first } from '../sql/query.js'
import { depthReads, heldReads, queueReads } from '../sql/queue.js'
import { readingReads, readingWrites } from '../sql/reading.js'
import { searchReads } from '../sql/search/reads.js'
import { indexReads } from '../sql/search/tokens.js'
import { setupReads, setupWrites } from '../sql/setup.js'
import { adding, statisticsReads } from '../sql/statistics.js'
import { createSuppressionEvents } from '../sql/suppressions.js'
import { insertInto, type Places } from '../sql/table.js'
import {
  domainReportReads,
  domainReportWrites,
  ringReads,
  ringWrites,
  tenantReads,
  warmupReads,
  warmupWrites,
} from '../sql/tenants.js'
import { endpointWrites, hookReads, postWrites } from '../sql/webhooks.js'
import { relayMark, serverState, writers } from './cluster.js'
import { scheduleVerbs } from './due.js'
import { logEnds, MAIL } from './mails.js'
import { orderVerbs } from './orders.js'
import { addIndexed, WORDS } from './search.js'
import { settling } from './settle.js'
import { STATISTICS } from './statistics.js'
import { sweepWrites } from './sweep.js'
import { createAddNotice, tenantVerbs } from './tenants.js'
import type { PostgresWriter } from './writer.js'

const ownReads = {
  *body(emailId: string): Asking<Uint8Array | null> {
    const found = 'SELECT b.raw FROM emails e JOIN bodies b ON b.n = e.body WHERE e.id = ?'
    return ((yield* first(found, emailId))?.raw as Uint8Array | undefined) ?? null
  },
  /** In the list of the workspace, or in that of its account. */
  *suppressed(list: string, emails: readonly string[], now: number): Asking<readonly string[]> {
    const text = `SELECT email FROM suppressions
      WHERE workspace_id IN (CAST(? AS TEXT), (SELECT account_id FROM workspaces WHERE id = ?))
        AND email IN (SELECT value FROM json_array_elements_text(CAST(? AS JSON)))
        AND (expires_at IS NULL OR expires_at > ?)`
    // its JSON has neither U+0000 (22P05) nor half a surrogate pair (22P02), and no address has
    const asked = JSON.stringify(
      emails.filter((email) => !email.includes('\0') && wellFormed(email) === email),
    )
    const found = new Set((yield* all(text, list, list, asked, now)).map(({ email }) => email))
    return emails.filter((email) => found.has(email))
  },
  depth: (of?: QueueOwner) => depthReads(MAIL.waiting).depth(systemClock.now(), of),
  *clockLead(now: number): Asking<number> {
    return now - timeOf(Number((yield* first('SELECT max(frontier) AS last FROM writers'))?.last))
  },
}

const carry = carryReads(MAIL)

/** Verbs that one connection answers for itself, without a writer. */
export const READS = {
  ...ownReads,
  ...mailReads(MAIL),
  ...dsnReads,
  ...emailReads(MAIL),
  ...logReads(MAIL, logEnds),
  ...readingReads(logEnds),
  ...tenantReads,
  ...identityReads,
  ...jobReads,
  ...setupReads,
  ...domainReportReads,
  ...auditReads,
  ...holdReads,
  ...heldReads(MAIL.waiting),
  ...queueReads(MAIL.waiting),
  ...hookReads,
  ...statisticsReads,
  ...alarmReads,
  ...outageReads,
  ...warmupReads,
  ...incidentReads,
  writers,
  ...ringReads,
  ...{ serverState, relayMark },
  ...searchReads(WORDS),
  ...indexReads,
  ...carry,
  *carried(emailId: string): Asking<CarriedMail | null> {
    const mail = yield* carry.carried(emailId)
    return mail === null ? null : { ...mail, raw: yield* ownReads.body(emailId) }
  },
}

/** Of what is watched: some are parts of others. */
const watchWrites = (places: Places, tenants: ReturnType<typeof tenantVerbs>) => {
  const parts: IncidentParts = {
    ...bounced(MAIL),
    places,
    addSuppression: tenants.addSuppression,
    addNotice: createAddNotice(places),
  }
  const insertHold = insertInto(HOLDS, places)
  const addHold = (hold: HoldRow): Asking<unknown> => insertHold(hold)
  return {
    ...hardBounceWrites(parts),
    ...incidentDecisions(parts),
    ...outageWrites(parts.addNotice),
    ...readingWrites({
      addStatistics: adding(STATISTICS),
      addIndexed,
      addAlarmCounts: alarmFold({ ...parts, addHold }),
    }),
  }
}

/** Work of a writer, each one transaction: verbs of the port, and the steps of some (steps.ts). */
const writesOf = (writer: Pick<PostgresWriter, 'places' | 'effects'>) => {
  const { places, effects } = writer
  const addNotice = createAddNotice(places)
  const tenants = tenantVerbs(places)
  const softBounce = softBounces({ ...bounced(MAIL), addSuppression: tenants.addSuppression })
  const watch = watchWrites(places, tenants)
  const { settleAll } = settling({ places, effects, softBounce })
  const { reschedule, cancel } = scheduleVerbs(places, effects)
  return {
    ...{ reschedule, cancel },
    ...tenants,
    ...identityWrites(places),
    ...jobWrites(places),
    ...setupWrites(places),
    ...domainReportWrites(places),
    ...ringWrites,
    ...warmupWrites,
    ...endpointWrites(places, addNotice),
    ...postWrites(places),
    ...watch,
    ...orderVerbs(writer, tenants.updateWorkspace, settleAll),
    ...sweepWrites({
      settleAll,
      tell: createSuppressionEvents(addNotice),
      decideStep: watch.decideStep,
    }),
    *addNotice(notice: EventNotice): Asking<string | null> {
      const ord = yield* addNotice(notice)
      return ord === null ? null : storedId(ord, notice.accountId)
    },
    followClock: () => atOnce(() => {}),
  }
}

export type WriteVerbs = ReturnType<typeof writesOf>
export const WRITE_NAMES = Object.keys(
  writesOf({ places: { next: () => 0 }, effects: { due: false, settled: [] } }),
) as (keyof WriteVerbs)[]
export type AnyVerb = (...args: readonly unknown[]) => Asking<unknown>

export interface Calls {
  /** As one transaction. */
  call<N extends keyof WriteVerbs>(
    name: N,
    ...args: Parameters<WriteVerbs[N]>
  ): ReturnType<AnsweredLater<WriteVerbs>[N]>
  /** The same caller, for several calls that are one order. */
  asOrder(): Calls
  by(acting: Acting | null): Calls
}

/** What relays of other daemons have read. */
const READ_BY_RELAYS: ReadonlySet<string> = new Set<keyof WriteVerbs>([
  'createAccount',
  'createWorkspace',
  'ownPool',
  'createPool',
  'updatePool',
  'deletePool',
  'rotateToken',
  'createDomain',
  'updateDomain',
  'removeDomain',
  'replaceReturnPathRing',
])

/** They wait for no verb of another daemon, and none waits for them (writer.ts). */
const OF_MAIL: ReadonlySet<string> = new Set<keyof WriteVerbs>(['sweepMail'])

export const createCalls = (writer: PostgresWriter, told: (error: unknown) => never): Calls => {
  const verbs = writesOf(writer) as unknown as Readonly<Record<string, AnyVerb>>
  const audit = audited(LOOKED, { places: writer.places, now: systemClock.now })

  function* acted(name: string, args: readonly unknown[], acting: Acting): Asking<unknown> {
    const tell = yield* audit(name, args, acting)
    const result = yield* (verbs[name] as AnyVerb)(...args)
    yield* tell(result)
    return result
  }

  const callsOf = (acting: Acting | null): Calls => ({
    call: (async (name: string, ...args: readonly unknown[]) => {
      function* verb(): Asking<unknown> {
        const result = yield* acting === null ? (verbs[name] as AnyVerb)(...args) : acted(name, args, acting)
        writer.pass(`${name}.before-commit`)
        return result
      }
      const result = await (OF_MAIL.has(name) ? writer.mail(verb) : writer.write(verb)).catch(told)
      writer.pass(`${name}.after-commit`)
      if (READ_BY_RELAYS.has(name)) writer.hints.elsewhere({ topic: 'changed' })
      return result
    }) as unknown as Calls['call'],
    asOrder: () =>
      acting === null || acting.entry !== null
        ? callsOf(acting)
        : callsOf({ ...acting, entry: newId('aud') }),
    by: callsOf,
  })
  return callsOf(null)
}
