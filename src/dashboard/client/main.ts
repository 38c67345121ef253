/**
 * NAME      main - what every page can do with scripts on
 * DESCRIPTION
 *   Nothing here is needed to read or to act: it copies, moves, closes, counts and keeps what is shown up to date.
 */
import { startCopying } from './copy.js'
import { startKeys } from './keys.js'
import { startMenus } from './menus.js'
import { startTimes } from './times.js'

// style shows what only a script can do
document.documentElement.dataset.scripts = ''

startCopying()
startKeys()
startMenus()
startTimes()

if (document.querySelector('[data-live], [data-refresh]')) {
  void import('./live.js').then(({ startLive }) => startLive())
}
if (document.querySelector('[data-passkey]')) {
  void import('./passkey.js').then(({ startPasskeys }) => startPasskeys())
}
if (document.querySelector('[data-chart]')) {
  void import('./charts.js').then(({ startCharts }) => startCharts())
}
