/**
 * NAME      statistics - what was counted
 */
import { Readable } from 'node:stream'
import Joi from 'joi'
import { type FieldError, readValid, wrongBy } from '../../base/fault.js'
import { GROUPS, INTERVALS, MOST_GROUPS, type Question, readQuestion } from '../../statistics/ask.js'
import {
  countedUntil,
  namesOf,
  STATISTICS_COLUMNS,
  statisticsRecord,
  statisticsRows,
} from '../../statistics/record.js'
import { type ReportScope, report } from '../../statistics/report.js'
import { readMode } from '../../tenant/principal.js'
import type { HttpDeps } from '../deps.js'
import { ANYBODY, type Call, fileAnswer, formatOf, GET, type RouteRow } from '../endpoint.js'
import {
  count,
  fileQuery,
  need,
  nullable,
  oneOf,
  pageQuery,
  record,
  shape,
  shapeOf,
  type TypeOf,
  time,
} from '../shapes/common.js'

const statisticsQuery = shapeOf(() => ({
  from: Joi.string()
    .max(64)
    .description(
      'A day of the zone, or a time; by default an hour, a day or 30 days before `to`, by interval',
    ),
  to: Joi.string().max(64).description('Exclusive; by default now'),
  interval: oneOf(...INTERVALS).description(
    'Default hour. At most 1,440 minutes, 744 hours or 396 days at once',
  ),
  group_by: oneOf(...GROUPS).description(
    'Default none. tag: of the names in `statistics.tags` of a workspace. category: of bounces. upstream: what upstreams answered. provider: who runs the mailboxes, by well-known domain',
  ),
  tag: Joi.string().max(256).description('With group_by=tag: the values of this name only'),
  format: fileQuery().format,
  tz: Joi.string().max(64).description('Of the tz database, such as Asia/Tashkent; default UTC'),
  limit: pageQuery()
    .limit.description(`Groups told apart, busiest first: 1 to ${MOST_GROUPS}, default 10`)
    .meta({
      schema: { type: 'integer', minimum: 1, maximum: MOST_GROUPS, default: 10 },
    }),
  mode: Joi.string().valid('live', 'test').description('Of sessions, default live; a key sees its own mode'),
}))
type StatisticsQuery = TypeOf<typeof statisticsQuery>

const rate = () => nullable(Joi.number().min(0))

const seconds = (what: string) =>
  Joi.object({ count: count(), p50: rate(), p95: rate(), p99: rate() })
    .required()
    .description(`Seconds from acceptance, or from the appointment, until ${what}; from a histogram`)

const counts = () => ({
  accepted: count().description('Taken over, also for addresses that are suppressed'),
  sent: count().description('An upstream answered 250'),
  delivered: count().description('Reported as delivered'),
  deferred: count().description('Put off for the first time, or reported as delayed'),
  greylisted: count().description('Those of the deferred that greylisting put off'),
  complained: count(),
  suppressed: count().description('Not sent, since the address was on a list; no bounce'),
  canceled: count(),
  dropped: count().description('Taken out of the queue by an operator; no bounce'),
})

const figures = shape(() => ({
  ...counts(),
  bounced: Joi.object({
    total: count(),
    hard: count().description('The address is dead'),
    soft: count(),
    by_category: Joi.object().pattern(Joi.string(), Joi.number().integer().min(1)).required(),
  }).required(),
  of_accepted: Joi.object({
    ...counts(),
    bounced_hard: count(),
    bounced_soft: count(),
    tried: Joi.number()
      .integer()
      .required()
      .description('accepted without suppressed, canceled and dropped; by upstream: sent and bounced'),
  })
    .required()
    .description(
      'What became until now of the recipients that were accepted in the span; those that came with their history, by `queue import`, were accepted elsewhere',
    ),
  rates: Joi.object({
    delivered: rate(),
    deferred: rate(),
    bounced: rate(),
    bounced_hard: rate(),
    bounced_soft: rate(),
    complained: rate(),
  })
    .required()
    .description(
      'Shares of what `rate_bases` names, of recipients accepted in the span; null without a base, by upstream for what only reports tell, and where more happened than was accepted: in a pool that others were rerouted to, for instance',
    ),
  time_to_sent: seconds('an upstream had it'),
  time_to_delivered: seconds('it was reported as delivered'),
}))

const total = shape(() => Joi.object(figures()).meta({ name: 'StatisticsFigures' }).required())
const span = record('StatisticsSpan', () => ({ at: time(), ...figures() }))

const base = shape(() => Joi.string().required())

const statisticsShape = record('Statistics', () => ({
  object: Joi.string().valid('statistics').required(),
  workspace_id: nullable(Joi.string()).description('null: all workspaces'),
  mode: Joi.string().valid('live', 'test').required(),
  from: time(),
  to: time(),
  interval: need(oneOf(...INTERVALS)),
  tz: Joi.string().required(),
  group_by: need(oneOf(...GROUPS)),
  as_of: time().description('All that happened before is counted'),
  rate_bases: Joi.object({
    delivered: base(),
    deferred: base(),
    bounced: base(),
    bounced_hard: base(),
    bounced_soft: base(),
    complained: base(),
  }).required(),
  totals: total(),
  data: Joi.array().items(span()).required().description('Every span, also empty ones'),
  groups: Joi.array()
    .items(
      Joi.object({
        key: nullable(Joi.string()).description(
          'Id, domain, category or provider; of a tag `name:value`, or `name` for its other values. null: all that are not told apart',
        ),
        name: nullable(Joi.string()),
        totals: total(),
        data: Joi.array().items(span()).required().description('Spans in which there was something'),
      }),
    )
    .required(),
}))

type Caller = Pick<Call, 'principal' | 'workspace'>

/** Adds to `errors` all that is wrong. */
const read = (
  { clock }: HttpDeps,
  { principal, workspace }: Caller,
  query: StatisticsQuery,
  errors: FieldError[],
): { readonly scope: ReportScope; readonly question: Question } => {
  const mode = readMode(principal, query.mode, errors) ?? 'live'
  const { group_by: groupBy, limit, format: _, ...rest } = query
  const words = { ...rest, groupBy, limit: limit === undefined ? undefined : Number(limit) }
  return {
    scope: { accountId: principal.accountId, workspaceId: workspace?.id ?? null, mode },
    question: readQuestion(words, clock.now(), (field) => `query.${field}`, errors),
  }
}

export const statistics: readonly RouteRow[] = [
  GET<StatisticsQuery, unknown>('/v1/statistics', {
    id: 'getStatistics',
    cli: 'stats',
    summary: 'Accepted, sent, delivered, bounced: how many, how fast, over time',
    description:
      'Recipients are counted, of one mode. Volumes (`sent`, `bounced` and so on) are of what happened in a span of time; `of_accepted`, `rates` and the times follow the recipients that were accepted in it, so that the rate of an hour may still change while its mail is under way. A recipient that was delivered and bounces after all is counted as both. Of an hour and workspace the 1,000 busiest recipient domains are told apart, and the 200 busiest values of a tag; the rest is in the group without a key. Minutes are kept for 48 hours and only told by workspace, pool, upstream or category; days that begin at half an hour of UTC for 35 days; all others for 13 months.',
    ...ANYBODY,
    query: statisticsQuery,
    files: ['csv', 'ndjson'],
    answers: { 200: statisticsShape },
    alsoWrong: ({ query }, _, call, deps) => wrongBy((errors) => read(deps, call, query, errors)),
    async handle(call, deps) {
      const { scope, question } = readValid((errors) => read(deps, call, call.query, errors))
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
