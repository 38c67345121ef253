/**
 * NAME      copy - buttons that copy what stands beside them
 */
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
export const startCopying = (): void => {
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
