/**
 * NAME      share - the tabs of one browser share one stream
 * DESCRIPTION
 *   HTTP/1.1 gives a browser six connections to a host. One tab that can be seen holds a lock and the stream, and tells
 *   the others; when it is hidden it lets go, and the next one goes on from the last mark that was heard.
 */
import { follow, type Said, type StreamState } from './stream.js'

const NAME = 'postern-live'

type Told = { readonly said: Said } | { readonly state: StreamState } | { readonly asks: 'state' }

export interface Listening {
  readonly path: string
  readonly hear: (said: Said) => void
  readonly tell: (state: StreamState) => void
}

export class SharedStream {
  readonly #listening: Listening
  readonly #channel = new BroadcastChannel(NAME)
  #mark: string | null = null
  #stop: AbortController | null = null
  /** What there is to tell a tab that comes later; null in those that follow. */
  #state: StreamState | null = null

  constructor(listening: Listening) {
    this.#listening = listening
    this.#channel.addEventListener('message', ({ data }) => this.#take(data as Told))
  }

  /** Listens, and leads when nobody else does. */
  start(): void {
    if (this.#stop !== null) return
    const stop = new AbortController()
    this.#stop = stop
    const { signal } = stop
    // locks are for https and loopback only; elsewhere each tab has its own stream
    this.#channel.postMessage({ asks: 'state' } satisfies Told)
    const lead = () => this.#lead(signal)
    if ('locks' in navigator) navigator.locks.request(NAME, { signal }, lead).catch(() => undefined)
    else void lead()
  }

  stop(): void {
    this.#stop?.abort()
    this.#stop = null
  }

  #take(told: Told): void {
    if ('asks' in told) {
      if (this.#state !== null) this.#channel.postMessage({ state: this.#state } satisfies Told)
      return
    }
    if ('state' in told) {
      this.#listening.tell(told.state)
      return
    }
    if (told.said.id !== '') this.#mark = told.said.id
    if (told.said.data !== '') this.#listening.hear(told.said)
  }

  #lead(signal: AbortSignal): Promise<void> {
    const pass = (told: Told): void => {
      this.#channel.postMessage(told)
      this.#take(told)
    }
    return follow(this.#listening.path, {
      after: () => this.#mark,
      hear: (said) => pass({ said }),
      tell: (state) => {
        this.#state = state
        pass({ state })
      },
      signal,
    }).finally(() => {
      this.#state = null
    })
  }
}
