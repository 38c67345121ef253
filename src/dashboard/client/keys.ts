/**
 * NAME      keys - a page without a mouse
 * DESCRIPTION
 *   Single letters work outside of fields only, and never together with Ctrl, Alt or Meta. Rows are moved through by
 *   the focus of their links, so that Enter is the browser's own.
 */
import { closeOpen } from './menus.js'

const BLURRED = 'postern-blurred'
const root = document.documentElement

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))

/** What each row's link is. */
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

export const startKeys = (): void => {
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
