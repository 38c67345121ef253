/**
 * NAME      live - the page follows what happens
 * DESCRIPTION
 *   An event is only the reason to ask: what is shown is always what the server renders. It is asked at most four times
 *   a second, and the less often the more happens, so that many open pages cost little while much mail flows.
 */
import { mergeRows } from './rows.js'
import { SharedStream } from './share.js'
import type { Said, StreamState } from './stream.js'

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

const hear = ({ data }: Said): void => {
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
