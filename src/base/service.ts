/**
 * NAME      service - a thing that runs, and a failure that lasts
 *   Everything with a lifetime starts and stops the same way, so the daemon can start upward and stop downward.
 *   Stopping what never started, or stopping twice, is fine and does nothing.
 *   What is tried each second fails each second. Its first failure is told, then at most one a minute, and at the end
 *   how long it lasted.
 */
import { systemClock } from './clock.js'
import type { Log } from './log.js'

const AGAIN_MS = 60_000

interface Telling {
  failed(error: Error): void
  /** It works again, so much later. */
  over(lastedMs: number): void
}

export interface Trouble {
  failed(error: Error): void
  succeeded(): void
}

export const createTrouble = ({ failed, over }: Telling, tick = systemClock.tick): Trouble => {
  let began: number | null = null
  let told = 0
  return {
    failed(error) {
      const now = tick()
      if (began !== null && now - told < AGAIN_MS) return
      began ??= now
      told = now
      failed(error)
    },
    succeeded() {
      if (began === null) return
      over(tick() - began)
      began = null
    },
  }
}

/** Its end as a line of the log; `what` is the line of its beginning. */
export const overIn =
  (log: Pick<Log, 'info'>, what: string): Telling['over'] =>
  (lastedMs) =>
    log.info({ after: what, lasted_s: Math.round(lastedMs / 1000) }, 'works again')

export interface Service {
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
}

/** Stops in the opposite order; `failed` hears of those that could not, and the rest is stopped all the same. */
export const stopAll = async (
  services: readonly Service[],
  failed: (service: Service, error: Error) => void = () => {},
): Promise<void> => {
  for (const service of [...services].reverse()) {
    await service.stop().catch((error: Error) => failed(service, error))
  }
}

/** Starts in order; when one fails, those that run are stopped again before the error goes on. */
export const startAll = async (services: readonly Service[]): Promise<void> => {
  const started: Service[] = []
  try {
    for (const service of services) {
      await service.start()
      started.push(service)
    }
  } catch (error) {
    await stopAll(started)
    throw error
  }
}

/** Starts a slow service without waiting for it: the first part begins, the second waits and is put where it must be there. */
export const startInBackground = (service: Service, before: () => void): readonly [Service, Service] => {
  let launch = Promise.resolve()
  return [
    {
      name: service.name,
      async start() {
        before()
        launch = service.start()
        launch.catch(() => {})
      },
      stop: () => service.stop(),
    },
    { name: `${service.name} is there`, start: () => launch, async stop() {} },
  ]
}

/**
 * For services that nobody waits for. Each is put where it is to be stopped; what is started of it there is nothing:
 * `begin` starts all of them, in that order, once what is waited for is there. A stop waits for the one that is starting.
 */
export const startLater = () => {
  const waiting: Service[] = []
  let begun = Promise.resolve()
  let isOver = false
  return {
    later: (service: Service): Service => ({
      name: service.name,
      async start() {
        waiting.push(service)
      },
      async stop() {
        isOver = true
        await begun.catch(() => {})
        await service.stop()
      },
    }),
    begin(): Promise<void> {
      const startEach = async (): Promise<void> => {
        for (const service of waiting) if (!isOver) await service.start()
      }
      begun = startEach()
      return begun
    },
  }
}

/**
 * Does the same again and again until it is stopped, first after `firstMs`. `turn` tells how long to rest before the
 * next one, 0 for not at all; what it throws goes to `failed`, unless it was stopped meanwhile; in a row, the first and one a minute.
 */
export const repeated = (
  name: string,
  turn: (isStopping: () => boolean) => Promise<number>,
  failed: { readonly restMs: number; readonly told: Telling['failed']; readonly over: Telling['over'] },
  firstMs = 0,
): Service => {
  const trouble = createTrouble({ failed: failed.told, over: failed.over })
  let running: Promise<void> | null = null
  let isStopping = false
  let wake: () => void = () => {}
  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const taken = async (): Promise<number> => {
    try {
      const ms = await turn(() => isStopping)
      trouble.succeeded()
      return ms
    } catch (error) {
      if (!isStopping) trouble.failed(error as Error)
      return failed.restMs
    }
  }
  const run = async (): Promise<void> => {
    if (firstMs > 0) await rest(firstMs)
    while (!isStopping) {
      const ms = await taken()
      if (ms > 0 && !isStopping) await rest(ms)
    }
  }
  return {
    name,
    async start() {
      isStopping = false
      running ??= run()
    },
    async stop() {
      isStopping = true
      wake()
      await running
      running = null
    },
  }
}

interface Shared {
  /** Whether it is to run here now; asked again and again. */
  readonly isOurs: () => Promise<boolean>
  readonly everyMs: number
  /** Of a service that could not start, or a question without an answer: then it stays as it is. */
  readonly told: Telling['failed']
  readonly over: Telling['over']
}

/** What runs in one of several places: it is made and started when it is ours, stopped when it is no more. */
export const whileOurs = (
  name: string,
  make: () => Service,
  { isOurs, everyMs, ...telling }: Shared,
): Service => {
  let running: Service | null = null
  const turn = async (isStopping: () => boolean): Promise<number> => {
    const wanted = await isOurs()
    if (isStopping()) return 0
    if (wanted && running === null) {
      const made = make()
      await made.start()
      running = made
    } else if (!wanted && running !== null) {
      const ending = running
      running = null
      await ending.stop()
    }
    // at the same times as others that ask: a store may answer them together
    return everyMs - (systemClock.tick() % everyMs)
  }
  const asking = repeated(name, turn, { restMs: everyMs, ...telling }, everyMs)
  return {
    name,
    async start() {
      await turn(() => false)
      await asking.start()
    },
    async stop() {
      await asking.stop()
      await running?.stop()
      running = null
    },
  }
}
