/**
 * From an empty folder to the first mail seen: `postern dev` on a terminal, a click on its link, one button, the curl
 * line that the page says to paste, and the mail stands where one landed without anybody reloading it.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { noChromium, openChromium, openWindow } from '../parts/chromium.js'
import { eventually } from '../parts/eventually.js'
import { BIN, cleanEnv } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'

const SCRIPT = '/usr/bin/script'
const skip = noChromium || (existsSync(SCRIPT) ? false : `${SCRIPT} is not installed`)

/** `postern dev` in a folder, on a terminal of its own; what it writes there. */
const startDev = async (dir: string) => {
  const [http, smtp, smtps, bounce, management] = await Promise.all(Array.from({ length: 5 }, freePort))
  const env = cleanEnv({
    NO_COLOR: '1',
    POSTERN_HTTP__PORT: `${http}`,
    POSTERN_MANAGEMENT__PORT: `${management}`,
    POSTERN_BOUNCE__PORT: `${bounce}`,
    POSTERN_SUBMISSION: JSON.stringify([
      { host: '127.0.0.1', port: smtp, tls: 'starttls' },
      { host: '127.0.0.1', port: smtps, tls: 'implicit' },
    ]),
  })
  const command = `'${process.execPath}' '${BIN}' dev`
  const child = spawn(SCRIPT, ['-qfec', command, '/dev/null'], {
    cwd: dir,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (part: Buffer) => {
    said += part.toString('utf8')
  })
  return {
    said: () => said.replaceAll('\r', ''),
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode !== null) return
      // as a person ends it
      child.stdin.write('\u0003')
      await gone
    },
  }
}

const shell = (command: string, cwd: string): Promise<string> =>
  new Promise((resolve) => execFile('sh', ['-c', command], { cwd }, (_error, stdout) => resolve(stdout)))

t.setTimeout(120_000)

t.test('the first mail, from an empty folder', { skip }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-first-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const dev = await startDev(dir)
  t.teardown(() => dev.stop())
  const find = (pattern: RegExp) =>
    eventually(`${pattern} on the terminal`, () => pattern.exec(dev.said()), { seen: dev.said })
  const [, base = '', link = ''] = await find(
    /(http:\/\/127\.0\.0\.1:\d+)\/ .*?(http:\S+\/setup\/\w+) \(one use/,
  )

  const browser = await openChromium()
  t.teardown(() => browser.close())
  const { page, troubles } = await openWindow(browser, base, null)
  await page.goto(link)
  t.equal(
    (await page.context().cookies()).some(({ name }) => name === 'postern_session'),
    false,
    'looking is not signing in',
  )
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Ready, and nothing was sent yet.' }).waitFor()
  const curl = (await page.locator('.code pre').first().textContent()) ?? ''
  t.match(curl, /Bearer svc_test_\w{44}"/, 'the line works as it is pasted')
  const { id } = JSON.parse(await shell(curl, dir)) as { id: string }
  // the subject appears by itself
  await page.locator(`a[href*="${id}"]`).first().waitFor()
  t.match(await page.locator('main').innerText(), /delivered@example\.com/)
  await page.locator(`a[href*="${id}"]`).first().click()
  await page.waitForURL(new RegExp(id))
  await page.goto(`/emails/${id}`)
  await eventually(
    'the page says that it was delivered',
    async () => {
      await page.reload()
      return /Delivered/.test(await page.locator('h1').innerText())
    },
    { every: 200 },
  )

  await page.goto('/emails/test')
  await page.getByLabel('What becomes of it').selectOption('bounced')
  await page.getByRole('button', { name: 'Send a test mail' }).click()
  await page.getByText('Sent into the sandbox').waitFor()
  await page.locator('main').getByText('Bounced').first().waitFor()
  t.strictSame(troubles(), [])

  const again = await openWindow(browser, base, null)
  await again.page.goto(link)
  t.equal(await again.page.getByRole('button', { name: 'Sign in' }).count(), 0, 'the link was for one use')
})
