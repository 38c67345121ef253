/**
 * NAME      webhook-posts - what was posted to an endpoint, and posting it again
 * DESCRIPTION
 *   A test is posted by this command itself, from this machine. Replays are made
 *   here and posted by the daemon, when it runs.
 */
import { parseTime } from '../base/time/iso.js'
import { MarkCodec } from '../record/mark.js'
import { webhookEvent, webhookReplay } from '../record/webhook.js'
import type { ListedPost } from '../store/port/hooks.js'
import { findEndpoint } from '../webhook/endpoint/endpoints.js'
import { type ReplayWish, replayEvent, replayMany, testEndpoint } from '../webhook/endpoint/replay.js'
import { command } from './command.js'
import { usage } from './exit.js'
import { listed } from './rows.js'
import { fields, type Paint, table } from './terminal.js'
import { readSpan } from './time.js'
import { ENDPOINT, scopeOf, type WebhookContext, withHooks } from './webhook-context.js'

export const test = command({
  usage: 'test <id>',
  summary: 'Post a webhook.test now, and show what comes back',
  positionals: ENDPOINT,
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      const post = await testEndpoint(
        context.hooks,
        await findEndpoint(context.hooks, scopeOf(context), args.id),
      )
      terminal.data(webhookEvent(post), (paint) =>
        fields(paint, [
          ['result', post.state === 'succeeded' ? 'ok' : post.cause],
          ['status', post.status],
          ['milliseconds', post.ms],
          ['answer', post.answer],
        ]),
      )
      return post.state === 'succeeded' ? 0 : 69
    }),
})

const postsTable = (paint: Paint, posts: readonly ListedPost[]): string =>
  table(
    paint,
    ['answered', 'event', 'type', 'kind', 'status', 'http', 'ms', 'tries', 'cause'],
    posts.map((post) => {
      const { status } = webhookEvent(post)
      const at = new Date(post.updatedAt).toISOString()
      return [
        at,
        post.eventId,
        post.eventType,
        post.kind,
        status,
        post.status,
        post.ms,
        post.attempts,
        post.cause,
      ]
    }),
    (text, column) =>
      column === 4
        ? text === 'success'
          ? paint.green(text)
          : text === 'failed'
            ? paint.red(text)
            : text
        : text,
  )

export const events = command({
  usage: 'events <id>',
  summary: 'What was posted to an endpoint in the last four days, newest first',
  positionals: ENDPOINT,
  options: {
    failed: { type: 'boolean', describe: 'Only those whose last try failed' },
    limit: { type: 'number', default: 50, describe: 'Not more than this' },
  },
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      const { hooks } = context
      const { id } = await findEndpoint(hooks, scopeOf(context), args.id)
      const posts = await listed((page) => hooks.store.posts(id, args.failed === true, page), args, terminal)
      terminal.data(posts.map(webhookEvent), (paint) => postsTable(paint, posts))
    }),
})

/** `2h` ago, an ISO 8601 time, or a mark of the log. */
const sinceOf = ({ deps, store, account }: WebhookContext, text: string): ReplayWish['since'] => {
  const mark = new MarkCodec(deps.pepper).read(text, account.id)
  if (mark !== null && store.isMark(mark)) return { mark }
  const at = momentOf(text)
  if (at === null) throw usage(`--since: ${text} is neither 2h, nor an ISO 8601 time, nor a mark of the log`)
  return { at }
}

const momentOf = (text: string): number | null => {
  const span = readSpan(text)
  return Number.isNaN(span) ? parseTime(text) : Date.now() - span
}

export const replay = command({
  usage: 'replay <id> [event]',
  summary: 'Post one event again, or many; under the ids that they had',
  positionals: { ...ENDPOINT, event: { type: 'string', describe: 'Its id, evt_…; else many' } },
  options: {
    since: { type: 'string', describe: 'From 2h ago, from an ISO 8601 time, or from a mark of the log' },
    until: { type: 'string', describe: 'Up to then; else up to now' },
    failed: { type: 'boolean', describe: 'Only events that were given up' },
    'dry-run': { type: 'boolean', describe: 'Only count' },
  },
  run: (args, terminal) =>
    withHooks(args, async (context) => {
      const { hooks } = context
      const row = await findEndpoint(hooks, scopeOf(context), args.id)
      if (args.event !== undefined) {
        const post = await replayEvent(hooks, row, args.event)
        return terminal.data(webhookEvent(post), () => `${post.eventId} will be posted again`)
      }
      if (args.since === undefined && !args.failed)
        throw usage('webhook replay needs an event, --since or --failed')
      const since = args.since === undefined ? null : sinceOf(context, args.since)
      const until = args.until === undefined ? Date.now() : momentOf(args.until)
      if (until === null) throw usage(`--until: ${args.until} is neither 2h nor an ISO 8601 time`)
      const failed = args.failed === true
      if (failed && since !== null && 'mark' in since) throw usage('--since: with --failed it must be a time')
      const done = await replayMany(hooks, row, { since, until, failed }, args.dryRun === true)
      const many = `${done.matched}${done.isCapped ? ' or more' : ''} events`
      terminal.data(webhookReplay(done), () =>
        args.dryRun ? `${many} would be posted again` : `${many} will be posted again`,
      )
    }),
})
