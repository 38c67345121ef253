/**
 * NAME      main - what every page can do with scripts on
 *   Nothing here is needed to read or to act: it copies, closes menus and sends nothing twice, moves by keys, counts times and
 *   keeps what is shown up to date. Single letters work outside of fields only, and never together with Ctrl, Alt or Meta. Rows
 *   are moved through by the focus of their links, so that Enter is the browser's own. The server learns the reader's zone.
 */
import { nearWords } from './span.js'

const DONE_MS = 2_000

/** navigator.clipboard is for https and loopback only. */
const copyBySelection = (text: string): boolean => {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'hid'
  document.body.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  return isDone
}

const copy = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

const press = async (button: HTMLButtonElement): Promise<void> => {
  const isDone = await copy(button.dataset.copy ?? '')
  const before = button.textContent
  button.textContent = isDone ? 'Copied' : 'Select it and copy'
  button.classList.toggle('done', isDone)
  setTimeout(() => {
    button.textContent = before
    button.classList.remove('done')
  }, DONE_MS)
}

/** Rows may be put in later: one listener hears all. */
const startCopying = (): void => {
  const show = () => {
    for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy][hidden]'))
      button.hidden = false
  }
  show()
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true })
  document.addEventListener('click', ({ target }) => {
    const button = (target as Element).closest<HTMLButtonElement>('button[data-copy]')
    if (button !== null && !button.classList.contains('done')) void press(button)
  })
}

const OPEN = 'details.verb[open], details.switch[open]'

/** The innermost open one, and the focus back to what opened it; false when nothing was open. */
const closeOpen = (): boolean => {
  const open = [...document.querySelectorAll<HTMLDetailsElement>(OPEN)].at(-1)
  if (open === undefined) return false
  open.open = false
  open.querySelector('summary')?.focus()
  return true
}

const startMenus = (): void => {
  document.addEventListener('click', ({ target }) => {
    for (const open of document.querySelectorAll<HTMLDetailsElement>(OPEN)) {
      if (!open.contains(target as Node)) open.open = false
    }
  })
  document.addEventListener(
    'toggle',
    ({ target }) => {
      const open = target as HTMLElement
      if (open.matches('details.verb[open], details.pin[open]'))
        open
          .querySelector<HTMLElement>('form :is(input:not([type=hidden]), textarea, select, button)')
          ?.focus()
    },
    true,
  )
  const sent = new Set<HTMLFormElement>()
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement
    if (form.method !== 'post') return
    if (sent.has(form)) event.preventDefault()
    sent.add(form)
  })
  // back from the page after it
  window.addEventListener('pageshow', () => sent.clear())
}

const BLURRED = 'postern-blurred'
const root = document.documentElement

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))

const rowLinks = (): readonly HTMLElement[] =>
  [...document.querySelectorAll<HTMLElement>('main tbody tr, main .list li')].flatMap(
    (row) => row.querySelector<HTMLElement>('a[href]') ?? [],
  )

const rowOf = (element: Element | null): Element | null => element?.closest('tbody tr, .list li') ?? null

const move = (by: number): void => {
  const links = rowLinks()
  const here = rowOf(document.activeElement)
  const at = links.findIndex((link) => here?.contains(link))
  const next = links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

const tick = (): void => {
  rowOf(document.activeElement)?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
}

const blur = (isOn: boolean): void => {
  if (isOn) root.dataset.blur = ''
  else delete root.dataset.blur
  sessionStorage.setItem(BLURRED, isOn ? '1' : '')
}

const search = (): void => {
  const field = document.querySelector<HTMLInputElement>('.find input[type=search]')
  field?.focus()
  field?.select()
}

const help = (): void => {
  const dialog = document.querySelector<HTMLDialogElement>('#keys')
  if (dialog?.open) dialog.close()
  else dialog?.showModal()
}

const ACTS: Readonly<Record<string, () => void>> = {
  '/': search,
  j: () => move(1),
  k: () => move(-1),
  x: tick,
  b: () => blur(root.dataset.blur === undefined),
  '?': help,
}

const startKeys = (): void => {
  if (sessionStorage.getItem(BLURRED) === '1') blur(true)
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      if (closeOpen()) event.preventDefault()
      return
    }
    if (event.ctrlKey || event.altKey || event.metaKey || isField(event.target)) return
    const act = Object.hasOwn(ACTS, event.key) ? ACTS[event.key] : undefined
    if (act === undefined) return
    event.preventDefault()
    act()
  })
}

const TICK_MS = 5_000
const YEAR_S = 31_536_000

const count = (): void => {
  if (document.hidden) return
  const now = Date.now()
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-near]')) {
    const words = nearWords(now - Date.parse(time.dateTime))
    if (time.textContent !== words) time.textContent = words
  }
}

const tellZone = (): void => {
  const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone)
  const said = `postern_zone=${zone}`
  if (document.cookie.split('; ').includes(said)) return
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is for https only
  document.cookie = `${said}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax${secure}`
}

const startTimes = (): void => {
  tellZone()
  setInterval(count, TICK_MS)
  document.addEventListener('visibilitychange', count)
}

// style shows what only a script can do
document.documentElement.dataset.scripts = ''

startCopying()
startKeys()
startMenus()
startTimes()

if (document.querySelector('[data-live], [data-refresh]'))
  void import('./live.js').then(({ startLive }) => startLive())
if (document.querySelector('[data-passkey]'))
  void import('./passkey.js').then(({ startPasskeys }) => startPasskeys())
if (document.querySelector('[data-chart]'))
  void import('./charts.js').then(({ startCharts }) => startCharts())
