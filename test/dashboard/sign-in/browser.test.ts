/** A real browser: what a policy forbids shows only there. */
import t from 'tap'
import { createLink } from '../../../src/tenant/people.js'
import { noChromium, openChromium, openWindow } from '../../parts/chromium.js'
import { openSite } from './site.js'

const PASSWORD = 'a sentence that nobody guesses'

t.test('in a real browser', { skip: noChromium }, async (t) => {
  const site = await openSite({ office: { allowed_domains: ['acme.test'] } })
  const browser = await openChromium()
  t.teardown(async () => {
    await browser.close()
    await site.stop()
  })

  const open = async (scripts: boolean) => {
    return openWindow(browser, site.url, null, { javaScriptEnabled: scripts })
  }

  for (const scripts of [true, false]) {
    t.test(`an invitation, sign-out and sign-in, scripts ${scripts ? 'on' : 'off'}`, async (t) => {
      const { page, troubles, context } = await open(scripts)
      const { deps, accountId, url } = site
      const { token } = await createLink(deps, accountId, {
        kind: 'invitation',
        role: 'owner',
        createdBy: 'test',
      })
      const email = `ada-${scripts}@acme.test`
      await page.goto(`${url}/invitation/${token}`)
      await page.fill('[name=email]', email)
      await page.fill('[name=password]', PASSWORD)
      await page.click('button')
      await page.waitForURL(`${url}/`)
      t.ok((await context.cookies()).some(({ name, httpOnly }) => name === 'postern_session' && httpOnly))
      // an open page would ask for what happens without its cookie, and be refused
      await page.goto('about:blank')
      await context.clearCookies()
      await page.goto(`${url}/emails?q=x`)
      await page.waitForURL(/\/sign-in\?return_to/)
      await page.fill('[name=email]', email)
      await page.fill('[name=password]', PASSWORD)
      await page.click('button')
      await page.waitForURL(`${url}/emails?q=x`)
      t.strictSame(troubles(), [])
      await context.close()
    })
  }

  t.test('through the provider, and out again at both', async (t) => {
    const { page, troubles, context } = await open(false)
    await page.goto(`${site.url}/sign-in`)
    await page.click('text=Sign in with Acme')
    await page.waitForURL(`${site.url}/`)
    await page.goto(`${site.url}/emails`)
    await page.click('summary:has-text("your menu")')
    await page.click('button:has-text("Sign out")')
    await page.waitForURL(/\/session\/end/)
    t.equal(
      (await context.cookies()).find(({ name }) => name === 'postern_session'),
      undefined,
    )
    // the provider is another host, and its pages are not ours
    t.strictSame(
      troubles().filter((one) => !one.startsWith('asks another host')),
      [],
    )
    await context.close()
  })
})
