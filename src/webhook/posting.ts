/**
 * NAME      posting - the engine with its way to the endpoints
 * DESCRIPTION
 *   As the followers' thread runs it: endpoints are called by the configuration's
 *   rules, and their secrets are opened for the moment of a post.
 */
import type { Clock } from '../base/clock.js'
import { diallerOf } from '../base/dial.js'
import type { GiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import { MarkCodec } from '../record/event.js'
import { targetOf } from './endpoints.js'
import { createPost } from './post.js'
import type { HookStore } from './poster.js'
import { createWebhooks } from './webhooks.js'

interface PostingParts {
  readonly store: HookStore
  readonly config: Config
  readonly pepper: Uint8Array
  readonly clock: Clock
  readonly log: Log
  readonly way: GiveWay
}

export const createPosting = ({ store, config, pepper, clock, log, way }: PostingParts): Service => {
  const dialler = diallerOf(config)
  const post = createPost(dialler, clock)
  const marks = new MarkCodec(pepper)
  const engine = createWebhooks({
    store,
    log,
    way,
    clock,
    post: (endpoint, request) => post(targetOf(pepper, endpoint, clock.now()), request),
    signMark: (mark, accountId) => marks.write(mark, accountId),
  })
  return {
    name: engine.name,
    start: () => engine.start(),
    async stop() {
      await engine.stop()
      await dialler.close()
    },
  }
}
