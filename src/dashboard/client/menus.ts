/**
 * NAME      menus - what is open closes when one looks elsewhere, and nothing is sent twice
 */
const OPEN = 'details.verb[open], details.switch[open]'

/** The innermost open one, and the focus back to what opened it; false when nothing was open. */
export const closeOpen = (): boolean => {
  const open = [...document.querySelectorAll<HTMLDetailsElement>(OPEN)].at(-1)
  if (open === undefined) return false
  open.open = false
  open.querySelector('summary')?.focus()
  return true
}

export const startMenus = (): void => {
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
