/** Passkeys in a real browser with a virtual authenticator; and an authenticator app without scripts. */
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import t from 'tap'
import { signedBy } from '../../../src/tenant/factors.js'
import { createPerson } from '../../../src/tenant/people.js'
import { noChromium, openChromium, openWindow } from '../../parts/chromium.js'
import { openSite, type Site } from './site.js'

const PASSWORD = 'a sentence that nobody guesses'
const PAGE = '/settings/second-factor'

const personAt = ({ deps, accountId }: Site, email: string) =>
  createPerson(deps, accountId, { email, role: 'owner', password: PASSWORD })

const signIn = async (page: Page, email: string) => {
  await page.goto('/sign-in?local')
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', PASSWORD)
  await page.click('button:has-text("Sign in")')
}

const virtual = async (page: Page) => {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...({ protocol: 'ctap2', transport: 'internal', automaticPresenceSimulation: true } as const),
      ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
    },
  })
  return { cdp, authenticatorId }
}

t.test('in a real browser', { skip: noChromium }, async (t) => {
  const site = await openSite({ office: null, host: 'localhost' })
  const browser = await openChromium()
  t.teardown(async () => {
    await browser.close()
    await site.stop()
  })

  t.test('a passkey is made, and signs in', async (t) => {
    const user = await personAt(site, 'ada@acme.test')
    const { page, context, troubles } = await openWindow(browser, site.url, null)
    const { cdp, authenticatorId } = await virtual(page)
    await signIn(page, user.email)
    await page.waitForURL(`${site.url}/`)
    await page.goto(PAGE)
    await page.fill('#begin-passkey-current_password', PASSWORD)
    await page.click('button:has-text("Add a passkey")')
    await page.click('button:has-text("Make the passkey")')
    await page.waitForSelector('text=Recovery codes, shown once')
    const [row] = await site.store.factors(user.id)
    t.match(row, { kind: 'passkey', name: 'Passkey' })
    await context.clearCookies()
    const asked: { body: string }[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/second-factor'))
        asked.push({ body: request.postData() ?? '' })
    })
    await signIn(page, user.email)
    await page.waitForURL(`${site.url}/second-factor`)
    const options = JSON.parse((await page.getAttribute('form[data-passkey]', 'data-options')) ?? '{}')
    t.match(options, { rpId: 'localhost', allowCredentials: [{ id: row?.lookup }] })
    await page.click('button:has-text("Use a passkey")')
    await page.waitForURL(`${site.url}/`)
    const after = (await site.store.factors(user.id))[0]
    t.ok((after?.counter ?? 0) > (row?.counter ?? 0))
    t.strictSame(troubles(), [])

    const response = new URLSearchParams(asked[0]?.body ?? '').get('response') ?? ''
    const challenge = Buffer.from(options.challenge, 'base64url').toString()
    const rows = row === undefined ? [] : [row]
    t.match(await signedBy(site.url, rows, challenge, response), { row: { id: row?.id } }, 'as it was')
    t.equal(await signedBy(site.url, rows, `${challenge}x`, response), null, 'another challenge')
    t.equal(await signedBy('https://evil.test', rows, challenge, response), null, 'another site')
    t.equal(await signedBy('http://localhost:1', rows, challenge, response), null, 'another origin')
    t.equal(await signedBy('http://127.0.0.1:1', rows, challenge, response), null, 'no site for passkeys')
    t.equal(
      await signedBy(site.url, after ? [after] : [], challenge, response),
      null,
      'a count that went back',
    )
    t.equal(await signedBy(site.url, [], challenge, response), null, 'of somebody else')
    t.equal(
      await signedBy(site.url, rows, challenge, JSON.stringify({ id: row?.lookup })),
      null,
      'nothing signed',
    )
    t.equal(await signedBy(site.url, rows, challenge, 'null'), null)

    await context.clearCookies()
    await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    await virtual(page)
    await signIn(page, user.email)
    await page.waitForURL(`${site.url}/second-factor`)
    t.equal(await page.locator('form[data-passkey]').count(), 1)
    await context.close()
  })

  t.test('an app and recovery codes, without scripts', async (t) => {
    const user = await personAt(site, 'bob@acme.test')
    const { page, context, troubles } = await openWindow(browser, site.url, null, {
      javaScriptEnabled: false,
    })
    await signIn(page, user.email)
    await page.waitForURL(`${site.url}/`)
    await page.goto(PAGE)
    await page.fill('#begin-app-current_password', PASSWORD)
    await page.click('button:has-text("Add an authenticator app")')
    t.equal(await page.locator('svg.qr').count(), 1)
    const secret = await page.inputValue('[name=secret]')
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    const code = (): string => totp.generate({ timestamp: site.clock.now() })
    await page.fill('[name=code]', code())
    await page.click('button:has-text("Turn it on")')
    const shown = await page.textContent('main')
    const recovery = /[2-9a-z]{5}-[2-9a-z]{5}/.exec(shown ?? '')?.[0] ?? ''
    t.ok(recovery)
    for (const proof of ['app', 'recovery']) {
      site.clock.advance(61_000)
      await context.clearCookies()
      await signIn(page, user.email)
      await page.waitForURL(`${site.url}/second-factor`)
      await page.fill('[name=code]', proof === 'app' ? code() : recovery)
      await page.click('button:has-text("Go on")')
      await page.waitForURL(`${site.url}/`)
    }
    t.strictSame(troubles(), [])
    await context.close()
  })
})

t.test('where there can be none, the page says why', async (t) => {
  const site = await openSite({ office: null })
  t.teardown(() => site.stop())
  const user = await personAt(site, 'ada@acme.test')
  const { row, token } = (await import('../../../src/tenant/people.js')).newSession(
    site.deps,
    site.accountId,
    {
      ...{ userId: user.id, provider: 'local' },
    },
  )
  await site.store.createSession(row)
  const headers = { cookie: `postern_session=${token}` }
  const page = await (await fetch(site.url + PAGE, { headers })).text()
  t.match(page, /Passkeys need a host name, and this is the IP address 127\.0\.0\.1/)
  const answer = await fetch(`${site.url}/v1/session/factors/begin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'passkey', current_password: PASSWORD }),
  })
  t.match(await answer.json(), { status: 409, reason: 'no_passkeys' })
})
