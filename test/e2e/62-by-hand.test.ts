/** What people do with the dashboard, done with scripts off, and with the keyboard alone. */
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { noChromium, openChromium, openWindow } from '../parts/chromium.js'
import { eventually } from '../parts/eventually.js'
import { makeScenery } from '../parts/scenery.js'

if (noChromium) {
  t.plan(0, noChromium)
  process.exit()
}

t.setTimeout(120_000)
const scenery = await makeScenery()
const { postern, session, mails } = scenery
t.teardown(() => postern.remove())
const browser = await openChromium()
t.teardown(() => browser.close())

/** Opens a verb and does it. */
const act = async (page: Page, label: string | RegExp, reason: string | null = null): Promise<void> => {
  const verb = page
    .locator('details.verb')
    .filter({ has: page.locator('summary').filter({ hasText: label }) })
    .first()
  await verb.locator('summary').click()
  if (reason !== null) await verb.getByLabel('Reason').fill(reason)
  await verb.locator('button[type=submit]').click()
}

const statusWith = async (key: string): Promise<number> =>
  (await postern.api('GET', '/v1/emails', key)).status

t.test('with scripts off', async (t) => {
  const { page, troubles } = await openWindow(browser, postern.url, session, { javaScriptEnabled: false })

  t.test('a key is made, works, is revoked, and its next request dies', async (t) => {
    await page.goto('/keys/new')
    await page.getByLabel('Name').fill('Checkout')
    await page.getByRole('button', { name: 'Make the key' }).click()
    const secret =
      /svc_(?:live|test)_[0-9A-Za-z]{40,}/.exec(await page.locator('main').innerText())?.[0] ?? ''
    t.equal(await statusWith(secret), 200)
    await page.goto(`/keys?prefix=${secret.slice(0, 21)}`)
    t.notMatch(await page.content(), secret.slice(22), 'the secret is shown once')
    await act(page, 'Revoke', 'It stood in a log')
    t.equal(await statusWith(secret), 401)
  })

  t.test('what was typed stays where a form is refused', async (t) => {
    await page.goto('/keys/new')
    await page.getByLabel('Name').fill('Checkout')
    await page.getByLabel('Sends a minute').fill('-3')
    await page.getByRole('button', { name: 'Make the key' }).click()
    t.equal(await page.getByLabel('Name').inputValue(), 'Checkout')
    t.equal(await page.locator('.wrong').count(), 1, 'the mistake stands beside its field')
  })

  t.test('a mail is held with a reason, and released', async (t) => {
    await page.goto(`/emails/${mails.waiting}`)
    await act(page, 'Hold', 'the price was wrong')
    t.match(await page.locator('main').innerText(), /held/i)
    await act(page, 'Release')
    const { body } = await postern.api('GET', `/v1/emails/${mails.waiting}`, session)
    t.not(body.waiting?.reason, 'held')
  })

  t.test('a mail is sent again, and one stands at the new one', async (t) => {
    await page.goto(`/emails/${mails.bounced}`)
    await act(page, 'Send again')
    t.notMatch(page.url(), mails.bounced ?? '')
    const id = /em_[0-9a-z]{26}/.exec(page.url())?.[0] ?? ''
    const { body } = await postern.api('GET', `/v1/emails/${id}`, session)
    t.equal(body.resent_from, mails.bounced)
  })

  t.test('a bounce is explained in its first sentence', async (t) => {
    await page.goto(`/emails/${mails.bounced}`)
    t.match(await page.locator('h1').innerText(), /^Bounced: .*(mailbox|address|user)/)
    await page.goto(`/emails/${mails.full}`)
    t.match(await page.locator('h1').innerText(), /^Bounced: .*(full|quota)/)
  })
  t.strictSame(troubles(), [])
})

/** What the focus is on, and whether anybody can see that. */
const focus = (page: Page): Promise<{ text: string; seen: boolean }> =>
  page.evaluate(() => {
    const at = document.activeElement
    const shows = (one: Element | null | undefined): boolean => {
      if (!one) return false
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one)
      return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
    }
    return {
      text: `${at?.tagName} ${at?.textContent?.trim().slice(0, 40)} ${at?.getAttribute('name') ?? ''}`,
      seen: shows(at) || shows(at?.closest('tr, li, label')),
    }
  })

/** Tab until the focus is there. */
const tabTo = async (page: Page, wanted: Locator): Promise<void> => {
  await eventually(
    'the focus is there',
    async () => {
      await page.keyboard.press('Tab')
      return wanted.evaluate((one) => one === document.activeElement)
    },
    { every: 0 },
  )
}

t.test('with the keyboard alone', async (t) => {
  const { page, troubles } = await openWindow(browser, postern.url, session)

  t.test('the first stop skips to the content, and each stop is seen', async (t) => {
    await page.goto('/emails?mode=test')
    await page.keyboard.press('Tab')
    t.match((await focus(page)).text, /Skip to the content/)
    for (let stop = 0; stop < 60; stop++) {
      await page.keyboard.press('Tab')
      const { text, seen } = await focus(page)
      if (text.startsWith('BODY')) break
      if (!seen) t.fail(`the focus is seen at ${text}`)
    }
    t.end()
  })

  t.test('a mail is found from any page', async (t) => {
    await page.goto('/errors')
    await page.keyboard.press('/')
    await page.keyboard.type('bounced@example.com')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/emails\?.*q=bounced/)
    t.pass('the field takes / and Enter')
  })

  t.test('a verb opens, closes with Escape, and does what it says', async (t) => {
    const secret = await postern.key('--name', 'By keyboard')
    await page.goto(`/keys?prefix=${secret.slice(0, 21)}`)
    const revoke = page.locator('summary').filter({ hasText: 'Revoke' })
    await tabTo(page, revoke)
    await page.keyboard.press('Enter')
    t.ok(await page.locator('details.verb[open]').count())
    await page.keyboard.press('Escape')
    t.equal(await page.locator('details.verb[open]').count(), 0)
    t.ok(await revoke.evaluate((one) => one === document.activeElement), 'and the focus is where it was')
    await page.keyboard.press('Enter')
    await tabTo(page, page.locator('details.verb[open] button[type=submit]'))
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
    t.equal(await statusWith(secret), 401)
  })
  t.strictSame(troubles(), [])
})
