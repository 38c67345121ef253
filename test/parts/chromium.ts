/**
 * A real browser: Debian's chromium, driven by playwright-core. It watches itself: what a page asks of another host,
 * what breaks its Content-Security-Policy, what it writes to the console as an error, is kept and told.
 */
import { existsSync } from 'node:fs'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'

const PROGRAM = '/usr/bin/chromium'

/** Why there is no browser test on this machine; false where there is one. */
export const noChromium: string | false = existsSync(PROGRAM) ? false : `${PROGRAM} is not installed`

export const openChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox'] })

export interface Watched {
  readonly context: BrowserContext
  readonly page: Page
  /** What was seen since the last call, in words; it should be nothing. */
  troubles(): readonly string[]
}

/** A fresh window on one site, with the session of somebody when a token is given. */
export const openWindow = async (
  browser: Browser,
  url: string,
  token: string | null,
  options: BrowserContextOptions = {},
): Promise<Watched> => {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: 1280, height: 900 },
    ...options,
  })
  if (token !== null) await context.addCookies([{ name: 'postern_session', value: token, url }])
  const page = await context.newPage()
  const seen: string[] = []
  const { origin } = new URL(url)
  page.on('request', (request) => {
    const to = request.url()
    if (!to.startsWith(`${origin}/`) && !/^(data|blob|about):/.test(to)) seen.push(`asks another host: ${to}`)
  })
  page.on('console', (message) => {
    // a page that says 404 is told as an error, too
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) {
      seen.push(`console: ${message.text()}`)
    }
  })
  page.on('pageerror', (error) => seen.push(`script: ${error.message}`))
  page.on('response', (response) => {
    if (response.status() >= 400 && response.request().resourceType() !== 'document') {
      seen.push(`${response.status()} for ${response.url()}`)
    }
  })
  return { context, page, troubles: () => seen.splice(0) }
}
