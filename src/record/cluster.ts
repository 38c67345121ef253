/**
 * NAME      cluster - the daemons that share a store, as every door shows them
 */
import { toRfc3339 } from '../base/clock.js'
import type { NotedPutBack, WriterRow } from '../store/port/cluster.js'

interface ClusterFacts {
  /** By the name that OpenTelemetry has for it. */
  readonly system: string
  readonly writers: readonly WriterRow[]
  readonly putBack: NotedPutBack | null
}

const writer = ({ n, role, epoch, lagMs }: WriterRow) => ({ number: n, role, epoch, lag_ms: lagMs })

/** Which part of an upstream's limits its relay has, where all relays serve the pool. */
const shareOf = (own: readonly WriterRow[], all: readonly WriterRow[]) => {
  const relays = all.filter(({ role }) => role === 'relay')
  const at = relays.findIndex((one) => own.includes(one))
  return at < 0 ? null : { part: at + 1, of: relays.length }
}

export const cluster = ({ system, writers, putBack }: ClusterFacts) => {
  const byDaemon = new Map<string, WriterRow[]>()
  for (const row of writers) byDaemon.set(row.daemonId, [...(byDaemon.get(row.daemonId) ?? []), row])
  const settings = new Set(writers.flatMap((one) => one.settings ?? []))
  return {
    object: 'cluster' as const,
    store: system,
    same_settings: settings.size <= 1,
    put_back: putBack === null ? null : { at: toRfc3339(putBack.at), lost_ms: putBack.lostMs },
    daemons: [...byDaemon].map(([id, own]) => ({
      id,
      host: own[0]?.host ?? '',
      version: own[0]?.version ?? '',
      settings: own[0]?.settings ?? null,
      pools: own.find(({ role }) => role === 'relay')?.pools ?? null,
      share: system === 'sqlite' ? { part: 1, of: 1 } : shareOf(own, writers),
      lag_ms: Math.max(...own.map(({ lagMs }) => lagMs)),
      writers: own.map(writer),
    })),
  }
}

export type ClusterRecord = ReturnType<typeof cluster>
