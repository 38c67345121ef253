/**
 * NAME      workspace - the shapes of workspaces
 */
import Joi from 'joi'
import { WORKSPACE } from '../../resource/tenants.js'
import {
  ALARM_LIMITS,
  ALARMS,
  type Alarm,
  MOST_SOFT_BOUNCES,
  MOST_SOFT_DAYS,
  SOFT_KINDS,
  type SoftLimits,
} from '../../store/port/alarms.js'
import { type AlarmsWish, MOST_DOMAIN_ROUTES, MOST_STATISTICS_TAGS } from '../../tenant/workspace.js'
import {
  asRead,
  body,
  clearable,
  membersOf,
  need,
  nullable,
  object,
  oneOf,
  oneOfWords,
  orNull,
  record,
  shape,
  shapeOf,
  type TypeOf,
  time,
} from './common.js'

const MEANS: Readonly<Record<Alarm, string>> = {
  complaints: 'Recipients who complained within 24 hours, of those tried',
  hard_bounces: 'Recipients who do not exist, within an hour, of those tried',
  deferrals:
    'Recipients refused for now in an answer, within an hour, of those tried; greylisting does not count',
}

const share = () => Joi.number().min(0.0001).max(1).description('A share: 0.003 is 0.3 %')
const least = () => Joi.number().integer().min(1).max(1_000_000).description('Fewer than this are no alarm')

/** A limit, or none. */
const limitFor = (alarm: Alarm, limit: Joi.ObjectSchema) => {
  const { rate, atLeast } = ALARM_LIMITS[alarm]
  return Joi.alternatives(Joi.string().valid('off'), limit).description(
    `${MEANS[alarm]}; ${rate * 100} % and ${atLeast} unless it says otherwise`,
  )
}

const wishedLimit = shapeOf(() => ({ rate: orNull(share()), at_least: orNull(least()) }))
const readLimit = shapeOf(() => ({ rate: share().required(), at_least: least().required() }))

const wishedAlarms = shape(() =>
  Joi.object<AlarmsWish>(
    Object.fromEntries(ALARMS.map((alarm) => [alarm, orNull(limitFor(alarm, wishedLimit()))])),
  ),
)

const tags = () =>
  Joi.array<readonly string[]>()
    .items(Joi.string().max(256))
    .max(MOST_STATISTICS_TAGS)
    .description('Names of tags whose values statistics count apart, from now on')

const softLimits = () =>
  Joi.object<SoftLimits>(
    Object.fromEntries(
      SOFT_KINDS.map((kind) => [
        kind,
        Joi.object({
          bounces: Joi.number().integer().min(1).max(MOST_SOFT_BOUNCES).required(),
          days: Joi.number().integer().min(0).max(MOST_SOFT_DAYS).required(),
        }),
      ]),
    ),
  ).description(
    'An address is suppressed after so many soft bounces of that kind, if the first is so many days older than the last and it took no mail between; {} for none. Mail older than its retention does not count',
  )

const route = shapeOf(() => ({
  domain: need(Joi.string().max(256)),
  egress_pool_id: need(Joi.string().max(100)),
}))

const routes = () =>
  Joi.array<readonly (TypeOf<typeof route> | undefined)[]>()
    .items(route())
    .max(MOST_DOMAIN_ROUTES)
    .description(
      'Pools for domains of recipients: `example.com` is that domain, `.example.com` all under it; the longest that fits counts',
    )

const fields = shape(() => ({
  slug: orNull(Joi.string().max(63)),
  egress_pool_id: clearable(Joi.string().max(100)),
  routes: orNull(routes()),
  default_from: clearable(Joi.string().max(1_000)),
  restrict_senders: orNull(Joi.boolean()),
  sender_dsn: orNull(Joi.boolean()),
  line_endings: orNull(oneOfWords(WORKSPACE.line_endings)),
  ambiguous: orNull(oneOfWords(WORKSPACE.ambiguous)),
  alarms: orNull(wishedAlarms()),
  on_alarm: orNull(oneOfWords(WORKSPACE.on_alarm)),
  suppress_soft: orNull(softLimits()),
  statistics: orNull(object({ tags: orNull(tags()) })),
}))

export const workspaceBody = body(() => ({
  name: need(orNull(Joi.string().max(200))),
  ...fields(),
}))

export const workspaceChange = body(() => ({
  id: asRead.text(),
  object: asRead.text(),
  name: orNull(Joi.string().max(200)),
  is_default: asRead.flag(),
  ...fields(),
  alarmed: orNull(Joi.array().description('As it was read; it can not be changed here')),
  suspended: orNull(Joi.boolean()),
  suspended_at: asRead.text(),
  suspended_reason: clearable(Joi.string().max(200)).description(
    'With `"suspended": true`: why, for whoever runs this',
  ),
  created_at: asRead.text(),
  managed: asRead.managed(),
}))
export type WorkspaceChange = TypeOf<typeof workspaceChange>

export const READ_WORKSPACE = ['id', 'object', 'is_default'] as const

const alarmCause = shape(() =>
  Joi.object({
    reason: Joi.string().required(),
    title: Joi.string().required(),
    count: Joi.number().integer().required(),
    of: Joi.number().integer().required(),
    domain: nullable(Joi.string()),
  }).description(
    'The most frequent reason, in a word and in plain words: so often among the newest of those counted, at most 1,000, at most a minute ago; and the domain of most of those recipients, where one has more than half. Of complaints it is the type of feedback. null: nothing is known',
  ),
)

export const workspace = record('Workspace', () =>
  membersOf(WORKSPACE, {
    routes: routes().required(),
    alarms: Joi.object(
      Object.fromEntries(ALARMS.map((alarm) => [alarm, limitFor(alarm, readLimit()).required()])),
    ).required(),
    suppress_soft: softLimits().required(),
    alarmed: Joi.array()
      .items(
        Joi.object({
          alarm: need(oneOf(...ALARMS)),
          since: time(),
          count: Joi.number().integer().required(),
          tried: Joi.number().integer().required(),
          cause: nullable(alarmCause()),
        }),
      )
      .required()
      .description(
        'The alarms that stand: since when, and what was counted at the last look, a second or two ago',
      ),
    statistics: Joi.object({ tags: tags().required() }).required(),
  }),
)

/** Its slug, so that nobody deletes another one than he means. */
export const confirmation = shapeOf(() => ({
  confirm: Joi.string().allow('').max(100).description('The slug of the workspace'),
}))
