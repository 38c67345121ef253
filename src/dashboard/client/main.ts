/**
 * NAME      main - what every page can do with scripts on
 */
// style shows what only a script can do
document.documentElement.dataset.scripts = ''

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy ?? '')
    button.textContent = 'Copied'
  })
}

document.addEventListener('keydown', (event) => {
  const open = document.querySelector<HTMLDetailsElement>('details.verb[open], details.switch[open]')
  if (event.key === 'Escape' && open !== null) {
    open.open = false
    open.querySelector('summary')?.focus()
  }
  const target = event.target as HTMLElement
  if (event.key === '/' && !target.matches('input, textarea, select')) {
    event.preventDefault()
    document.querySelector<HTMLInputElement>('.find input[type=search]')?.focus()
  }
})
