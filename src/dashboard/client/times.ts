/**
 * NAME      times - relative times go on, and the server learns the reader's zone
 */
import { nearWords } from './span.js'

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

export const startTimes = (): void => {
  tellZone()
  setInterval(count, TICK_MS)
  document.addEventListener('visibilitychange', count)
}
