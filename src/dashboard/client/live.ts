/**
 * NAME      live - the page follows what happens
 *   An event is only the reason to ask: what is shown is always what the server renders. It is asked at most four times a
 *   second, and the less often the more happens. Rows that are shown change where they stand; new ones come on top when the
 *   reader is there with nothing ticked and no pointer on a row, else they wait behind a button that says how many.
 *   HTTP/1.1 gives a browser six connections to a host, so the tabs share one stream: one that can be seen holds a lock and the
 *   stream, and tells the others; when it is hidden it lets go, and the next one goes on from the last mark.
 *   EventSource gives up for good on any answer but 200, and does not say why. The stream here is read by hand: it comes back
 *   where it was, backs off when the server says so, and says when the sign-in is over.
 */
const PAUSED = 'postern-paused'
const SHORTEST_MS = 250
const LONGEST_MS = 10_000
/** Milliseconds to wait for each event of a second. */
const MS_PER_EVENT = 25
/** Figures need not be as quick as rows. */
const FIGURES_MS = 3_000
const SPAN_MS = 250

const WORDS: Readonly<Record<StreamState | 'paused', string>> = {
  live: 'Live',
  waiting: 'Reconnecting',
  'signed-out': 'Signed out: load the page again',
  paused: 'Paused',
}

interface Merged {
  readonly count: number
  readonly last: readonly { readonly mode?: string | null }[]
}

let isAsking = false
let timer: ReturnType<typeof setTimeout> | null = null
let askedAt = 0

const isPaused = (): boolean => localStorage.getItem(PAUSED) === '1'

const show = (state: StreamState | 'paused'): void => {
  for (const place of document.querySelectorAll<HTMLElement>('[data-live]')) {
    place.dataset.state = state === 'live' ? 'live' : state === 'paused' ? 'paused' : 'wait'
    const words = place.querySelector('[role=status]')
    if (words !== null && words.textContent !== WORDS[state]) words.textContent = WORDS[state]
    const button = place.querySelector('button')
    if (button !== null) button.textContent = state === 'paused' ? 'Resume' : 'Pause'
  }
}

/** Leaves alone what somebody is just using. */
const isInUse = (place: Element): boolean =>
  place.querySelector('details.verb[open]') !== null ||
  (place.contains(document.activeElement) &&
    document.activeElement?.matches('input, select, textarea') === true)

const refresh = (place: HTMLElement, fresh: HTMLElement): void => {
  if (place.innerHTML === fresh.innerHTML || isInUse(place)) return
  const open = [...place.querySelectorAll('details')].map((one) => one.open)
  place.replaceChildren(...document.importNode(fresh, true).childNodes)
  place.querySelectorAll('details').forEach((one, at) => {
    one.open = open[at] ?? one.open
  })
  place.dispatchEvent(new CustomEvent('postern-refreshed', { bubbles: true }))
}

const takeIn = (fresh: Document): void => {
  for (const place of document.querySelectorAll<HTMLElement>('[data-refresh]')) {
    const other = fresh.getElementById(place.id)
    if (other !== null) refresh(place, other)
  }
  const name = document.querySelector<HTMLElement>('[data-live]')?.dataset.live ?? ''
  if (name === '') return
  const table = document.getElementById(name) as HTMLTableElement | null
  const other = fresh.getElementById(name) as HTMLTableElement | null
  if (table !== null && other !== null) {
    mergeRows(table, other)
    return
  }
  // the first row of a list that was empty, or what stands in its place then: the inbox of dev
  const main = fresh.querySelector('main')
  const isOther = fresh.querySelector<HTMLElement>('[data-live]')?.dataset.live !== name
  if (table === null && main !== null && (other !== null || isOther)) {
    document.querySelector('main')?.replaceChildren(...document.importNode(main, true).childNodes)
    show('live')
  }
}

const ask = async (): Promise<void> => {
  if (isAsking) return
  isAsking = true
  askedAt = Date.now()
  try {
    const answer = await fetch(location.href, { headers: { 'x-postern-part': 'main' }, cache: 'no-store' })
    if (answer.redirected) show('signed-out')
    else if (answer.ok) takeIn(new DOMParser().parseFromString(await answer.text(), 'text/html'))
  } catch {
    // the stream says that the server is away
  } finally {
    isAsking = false
  }
}

const askSoon = (perSecond: number): void => {
  if (timer !== null) return
  const hasRows = (document.querySelector<HTMLElement>('[data-live]')?.dataset.live ?? '') !== ''
  const least = hasRows ? SHORTEST_MS : FIGURES_MS
  const gap = Math.min(LONGEST_MS, Math.max(least, perSecond * MS_PER_EVENT))
  timer = setTimeout(
    () => {
      timer = null
      if (isAsking) askSoon(perSecond)
      else void ask()
    },
    Math.max(0, askedAt + gap - Date.now()),
  )
}

const hear = ({ data }: StreamMessage): void => {
  const { count = 1, last = [] } = JSON.parse(data) as Partial<Merged>
  const mode = document.querySelector<HTMLElement>('[data-mode]')?.dataset.mode
  const isOthers = (one: Merged['last'][number]) =>
    one.mode !== null && one.mode !== undefined && one.mode !== mode
  const isAllTold = count <= last.length
  if (isAllTold && last.length > 0 && mode !== undefined && last.every(isOthers)) return
  askSoon((count * 1_000) / SPAN_MS)
}

export const startLive = (): void => {
  // where the page loaded its scripts from says where it lives
  const path = document.querySelector<HTMLElement>('[data-path]')?.dataset.path ?? '/live'
  const stream = new SharedStream({ path, hear, tell: (state) => !isPaused() && show(state) })
  let wasHidden = false
  const settle = (): void => {
    if (document.hidden || isPaused()) stream.stop()
    else stream.start()
    if (isPaused()) show('paused')
    else if (!document.hidden && wasHidden) void ask()
    wasHidden = document.hidden || isPaused()
  }
  document.addEventListener('visibilitychange', settle)
  window.addEventListener('storage', settle)
  window.addEventListener('pagehide', () => stream.stop())
  window.addEventListener('pageshow', settle)
  document.addEventListener('click', ({ target }) => {
    if ((target as Element).closest('[data-live] button') === null) return
    if (isPaused()) localStorage.removeItem(PAUSED)
    else localStorage.setItem(PAUSED, '1')
    settle()
  })
  settle()
}

const NEW_MS = 2_000
const NEAR_TOP_PX = 80

/** What says whether two renderings of a row differ: relative times always do. */
const essence = (row: Element): string => {
  const copy = row.cloneNode(true) as Element
  copy.classList.remove('new')
  for (const time of copy.querySelectorAll('time[data-near]')) time.textContent = ''
  return copy.outerHTML
}

const replaceRow = (shown: Element, fresh: Element): void => {
  if (essence(shown) === essence(fresh)) return
  const isFocused = shown.contains(document.activeElement)
  const ticked = shown.querySelector<HTMLInputElement>('input[type=checkbox]')?.checked === true
  const next = document.importNode(fresh, true)
  const box = next.querySelector<HTMLInputElement>('input[type=checkbox]')
  if (box !== null) box.checked = ticked
  shown.replaceWith(next)
  if (isFocused) next.querySelector<HTMLElement>('a[href]')?.focus({ preventScroll: true })
}

const mayMove = (list: Element): boolean =>
  window.scrollY < NEAR_TOP_PX &&
  list.querySelector('input:checked') === null &&
  document.querySelector('details.verb[open]') === null &&
  !list.matches(':hover')

const add = (list: Element, fresh: readonly Element[], most: number): void => {
  const rows = fresh.map((row) => document.importNode(row, true))
  for (const row of rows) row.classList.add('new')
  list.prepend(...rows)
  for (const old of [...list.children].slice(most)) old.remove()
  setTimeout(() => {
    for (const row of rows) row.classList.remove('new')
  }, NEW_MS)
}

const offer = (table: Element, count: number, isAll: boolean, take: () => void): void => {
  const before = table.previousElementSibling
  let button = before?.matches('button.fresh') ? (before as HTMLButtonElement) : null
  if (count === 0) {
    button?.remove()
    return
  }
  if (button === null) {
    button = document.createElement('button')
    button.type = 'button'
    button.className = 'b fresh'
    table.before(button)
  }
  button.textContent = `${count}${isAll ? ' or more' : ''} new`
  button.onclick = () => {
    take()
    button.remove()
    window.scrollTo({ top: 0 })
  }
}

const mergeRows = (table: HTMLTableElement, fresh: HTMLTableElement): void => {
  const list = table.tBodies[0]
  const rows = [...(fresh.tBodies[0]?.rows ?? [])]
  if (list === undefined) return
  const unseen: Element[] = []
  for (const row of rows) {
    const shown = document.getElementById(row.id)
    if (shown !== null && list.contains(shown)) replaceRow(shown, row)
    else unseen.push(row)
  }
  const take = () => add(list, unseen, rows.length)
  const isTaken = unseen.length > 0 && mayMove(list)
  if (isTaken) take()
  offer(table, isTaken ? 0 : unseen.length, unseen.length === rows.length, take)
}

const NAME = 'postern-live'

type Told = { readonly said: StreamMessage } | { readonly state: StreamState } | { readonly asks: 'state' }

export interface Listening {
  readonly path: string
  readonly hear: (said: StreamMessage) => void
  readonly tell: (state: StreamState) => void
}

class SharedStream {
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

interface StreamMessage {
  /** Its place in the log. */
  readonly id: string
  readonly type: string
  readonly data: string
}

type StreamState = 'live' | 'waiting' | 'signed-out'

interface Reader {
  /** Where to go on; null: from now. */
  readonly after: () => string | null
  readonly hear: (said: StreamMessage) => void
  readonly tell: (state: StreamState) => void
  readonly signal: AbortSignal
}

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

const blockOf = (text: string): StreamMessage => {
  const fields: Record<string, string> = {}
  for (const line of text.split('\n')) {
    const at = line.indexOf(':')
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, '')
  }
  return { id: fields.id ?? '', type: fields.event ?? '', data: fields.data ?? '' }
}

const readAll = async (body: ReadableStream<Uint8Array>, hear: Reader['hear']): Promise<void> => {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) hear(blockOf(block))
  }
}

/** Until the signal, or the end of the sign-in. */
export const follow = async (path: string, { after, hear, tell, signal }: Reader): Promise<void> => {
  let wait = FIRST_WAIT_MS
  while (!signal.aborted) {
    try {
      const mark = after()
      const headers = mark === null ? {} : { 'last-event-id': mark }
      const answer = await fetch(path, { headers, signal, cache: 'no-store', redirect: 'error' })
      if (answer.status === 401 || answer.status === 403) {
        tell('signed-out')
        return
      }
      if (answer.ok && answer.body !== null) {
        tell('live')
        wait = FIRST_WAIT_MS
        await readAll(answer.body, hear)
      } else {
        wait = Math.max(wait, Number(answer.headers.get('retry-after') ?? 0) * 1_000)
      }
    } catch {
      // lost on the way, or the page goes
    }
    if (signal.aborted) return
    tell('waiting')
    await pause(wait + Math.random() * wait, signal)
    wait = Math.min(wait * 2, LONGEST_WAIT_MS)
  }
}
