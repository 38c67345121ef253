/**
 * NAME      figures - what the overview asks, and the sentence that it makes of it
 */
import type { Incident } from '../../../record/incident.js'
import { type QueueStateRecord, recipients } from '../../../record/queue-state.js'
import type { Webhook } from '../../../record/webhook.js'
import type { StatisticsRecord } from '../../../statistics/record.js'
import { AskError, type Problem, type Query } from '../../ask.js'
import type { EmailRow } from '../../mail/record.js'
import type { List } from '../../parts/table.js'
import type { Visit } from '../../visit.js'
import type { Pool } from '../pools/upstream.js'
import { openIncidents } from '../suppressions/incidents.js'
import type { WorkspaceRow } from '../workspaces/record.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

export const WINDOWS = {
  '1h': { words: '1 h', length: HOUR, interval: 'minute', each: 'minute' },
  '24h': { words: '24 h', length: DAY, interval: 'hour', each: 'hour' },
  '7d': { words: '7 d', length: 7 * DAY, interval: 'hour', each: 'hour' },
  '30d': { words: '30 d', length: 30 * DAY, interval: 'day', each: 'day' },
} as const
export type Window = keyof typeof WINDOWS

export const windowOf = (visit: Visit): Window => {
  const asked = visit.query('time') ?? '24h'
  return Object.hasOwn(WINDOWS, asked) ? (asked as Window) : '24h'
}

export interface Facts {
  readonly statistics: StatisticsRecord
  /** By recipient domain; null where it was refused. */
  readonly domains: StatisticsRecord | null
  readonly pools: readonly Pool[]
  readonly webhooks: readonly Webhook[]
  readonly workspaces: readonly WorkspaceRow[]
  readonly incidents: readonly Incident[]
  /** Null where it cannot be said. */
  readonly state: QueueStateRecord | null
}

const dataOf = <T>(answer: List<T> | { readonly data: readonly T[] } | Problem): readonly T[] =>
  'data' in answer ? answer.data : []

const noneIfRefused = (error: unknown): readonly never[] => {
  if (error instanceof AskError) return []
  throw error
}

/** What the strips are made of. */
export const statisticsQuery = (visit: Visit): Query => {
  const { length, interval } = WINDOWS[windowOf(visit)]
  const from = new Date(visit.now - length).toISOString()
  return { mode: visit.scope.mode, tz: visit.zone, from, interval }
}

export const askScene = async (visit: Visit): Promise<Facts> => {
  const query = statisticsQuery(visit)
  const few = { query: { limit: 100 } }
  const [statistics, domains, pools, webhooks, workspaces, state, incidents] = await Promise.all([
    visit.ask<StatisticsRecord>('GET', '/v1/statistics', { query }),
    visit.part<StatisticsRecord>('/v1/statistics', {
      query: { ...query, interval: 'day', group_by: 'recipient_domain', limit: 50 },
    }),
    visit.part<List<Pool>>('/v1/egress-pools', few),
    visit.part<List<Webhook>>('/v1/webhooks', few),
    visit.workspaces<WorkspaceRow>().catch(noneIfRefused),
    visit.queueState(),
    openIncidents(visit),
  ])
  return {
    ...{ statistics, workspaces, incidents, state, pools: dataOf(pools) },
    domains: 'groups' in domains ? domains : null,
    webhooks: dataOf(webhooks),
  }
}

export const percent = (share: number | null | undefined): string | null =>
  share == null ? null : `${(share * 100).toFixed(1)} %`

/** Below it, and above the other, nobody says that all is well. */
const WELL = { delivered: 0.9, bounced: 0.05 }

const isWell = ({ statistics, workspaces, webhooks, incidents }: Facts): boolean => {
  const { delivered, bounced } = statistics.totals.rates
  if (workspaces.some(({ alarmed }) => alarmed.length > 0)) return false
  if (incidents.length > 0) return false
  if (webhooks.some(({ health }) => health.state === 'failing')) return false
  return (delivered ?? 0) >= WELL.delivered && (bounced ?? 0) < WELL.bounced
}

/** The state of the queue first; where mail flows, what became of it. */
export const sentence = (visit: Visit, facts: Facts, first: readonly EmailRow[] = []): string => {
  const { statistics, state } = facts
  if (state !== null && state.tone !== 'ok') return state.title
  const { rates } = statistics.totals
  const { words: time, length } = WINDOWS[windowOf(visit)]
  // statistics come a moment later than the first mails
  const fresh = first.filter(({ created_at }) => Date.parse(created_at) >= visit.now - length)
  const seen = fresh.flatMap(({ counts }) => Object.values(counts)).reduce((sum, n) => sum + n, 0)
  const accepted = Math.max(statistics.totals.accepted, seen)
  if (accepted === 0) return `Nothing was sent in ${time}.`
  const [delivered, bounced] = [percent(rates.delivered), percent(rates.bounced)]
  const all = `${recipients(accepted)} in ${time}`
  if (state !== null && isWell(facts)) return `All is well: ${all}, ${delivered} delivered.`
  return delivered === null ? `${all}.` : `${all}: ${delivered} delivered, ${bounced} bounced.`
}
