/**
 * NAME      rows - a list that takes in new rows without jumping
 * DESCRIPTION
 *   Rows that are shown change where they stand. New ones come on top when the reader is there with nothing ticked and
 *   no pointer on a row; else they wait behind a button that says how many.
 */
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

/** Shows how many wait; a press takes them in. */
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

/** Takes in what the server says the list is now. */
export const mergeRows = (table: HTMLTableElement, fresh: HTMLTableElement): void => {
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
