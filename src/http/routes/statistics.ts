/**
 * NAME      statistics - what was counted
 */
import { Readable } from 'node:stream'
import { type FieldError, invalid } from '../../base/fault.js'
import { type Question, readQuestion } from '../../statistics/ask.js'
import {
  countedUntil,
  namesOf,
  STATISTICS_COLUMNS,
  statisticsRecord,
  statisticsRows,
} from '../../statistics/record.js'
import { report, type Scope } from '../../statistics/report.js'
import { readMode } from '../../tenant/principal.js'
import type { Deps } from '../deps.js'
import { ANYBODY, type Call, GET, type RouteRow } from '../endpoint.js'
import * as shapes from '../shapes/statistics.js'
import { fileAnswer, formatOf } from '../wire/export.js'

type Caller = Pick<Call, 'principal' | 'workspace'>

/** Adds to `errors` all that is wrong. */
const read = (
  { clock }: Deps,
  { principal, workspace }: Caller,
  query: shapes.StatisticsQuery,
  errors: FieldError[],
): { readonly scope: Scope; readonly question: Question } => {
  const mode = readMode(principal, query.mode, errors) ?? 'live'
  const { group_by: groupBy, limit, format: _, ...rest } = query
  const words = { ...rest, groupBy, limit: limit === undefined ? undefined : Number(limit) }
  return {
    scope: { accountId: principal.accountId, workspaceId: workspace?.id ?? null, mode },
    question: readQuestion(words, clock.now(), (field) => `query.${field}`, errors),
  }
}

export const statistics: readonly RouteRow[] = [
  GET<shapes.StatisticsQuery, unknown>('/v1/statistics', {
    id: 'getStatistics',
    cli: 'stats',
    summary: 'Accepted, sent, delivered, bounced: how many, how fast, over time',
    description:
      'Recipients are counted, of one mode. Volumes (`sent`, `bounced` and so on) are of what happened in a span of time; `of_accepted`, `rates` and the times follow the recipients that were accepted in it, so that the rate of an hour may still change while its mail is under way. A recipient that was delivered and bounces after all is counted as both. Of an hour and workspace the 1,000 busiest recipient domains are told apart, and the 200 busiest values of a tag; the rest is in the group without a key. Minutes are kept for 48 hours and only told by workspace, pool, upstream or category; days that begin at half an hour of UTC for 35 days; all others for 13 months.',
    ...ANYBODY,
    query: shapes.statisticsQuery,
    files: ['csv', 'ndjson'],
    answers: { 200: shapes.statistics },
    alsoWrong({ query }, _, call, deps) {
      const errors: FieldError[] = []
      read(deps, call, query, errors)
      return errors
    },
    async handle(call, deps) {
      const errors: FieldError[] = []
      const { scope, question } = read(deps, call, call.query, errors)
      if (errors.length > 0) throw invalid(errors)
      // before the rows, so that it promises no more than they hold
      const asOf = await countedUntil(deps.store, deps.clock.now())
      const told = await report(deps.store, scope, question)
      const names = await namesOf(deps.store, scope.accountId, question.groupBy, told)
      const body = statisticsRecord(scope, question, told, names, asOf)
      const format = formatOf(call)
      if (format === null) return { status: 200, body }
      const pages = Readable.from([statisticsRows(body)])
      return fileAnswer(format, { name: 'statistics', columns: STATISTICS_COLUMNS, pages })
    },
  }),
]
