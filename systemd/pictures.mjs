#!/usr/bin/env node
// Makes the pictures of README.md from `postern dev --demo` in a real browser: the dashboard beside a terminal, light
// and dark, into config/pictures. Beside them goes the digest of what they show: the style sheet and the frame of the
// pages (tags, classes and headings, without what is of one mail or one day).
//   npm run pictures                 makes them anew
//   npm run pictures -- --check      only asks whether the pages are still those of the pictures; a release does that, with
//                                    --program=FOLDER, where a package and its Node are put together
// Needs Debian's chromium. Look at every picture before you commit it.
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { chromium } from 'playwright-core'

const MOST_OCTETS = 150_000
const OUT = join('config', 'pictures')
const DIGEST = join(OUT, 'pages.sha256')
const PAGES = ['/', '/emails']
const isCheck = process.argv.includes('--check')
const folder = process.argv.find((word) => word.startsWith('--program='))?.replace('--program=', '')
const [PROGRAM, ...FIRST] = folder === undefined ? ['bin/postern'] : [join(folder, 'bin/node'), join(folder, 'postern.js')]

const dir = mkdtempSync(join(tmpdir(), 'postern-pictures-'))
const free = ['HTTP__PORT', 'MANAGEMENT__PORT', 'BOUNCE__PORT', 'SUBMISSION__0__PORT', 'SUBMISSION__1__PORT']
const env = { ...process.env, ...Object.fromEntries(free.map((one) => [`POSTERN_${one}`, '0'])), POSTERN_DATA_DIR: dir }
const inDemo = { ...env, POSTERN_DATA_DIR: join(dir, 'demo'), FORCE_COLOR: '1', COLUMNS: '80' }
const postern = (...words) => execFileSync(PROGRAM, [...FIRST, ...words], { env: inDemo, encoding: 'utf8' })

/** Resolves with the address of the dashboard. */
const started = (daemon) =>
  new Promise((resolve, reject) => {
    let base = ''
    createInterface({ input: daemon.stdout }).on('line', (line) => {
      base = /Dashboard +(http:\S+?)\/ /.exec(line)?.[1] ?? base
      if (line.startsWith('Watch:')) resolve(base)
    })
    daemon.once('exit', (code) => reject(new Error(`postern dev --demo ended with ${code}`)))
  })

const COLOURS = { 31: '#c4314b', 32: '#2f8f4e', 33: '#b7791f', 36: '#2b7fb8', 2: '#8a8f98' }
const escaped = (text) => text.replace(/[&<>]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[one])

/** What a terminal shows of it. */
const terminalHtml = (text) => {
  let depth = 0
  const parts = escaped(text).replace(/\u001b\[([\d;]*)m/g, (_, codes) => {
    const code = Number(codes.split(';').at(-1) || 0)
    const isEnd = code === 0 || code === 39 || code === 22
    if (isEnd) return depth-- > 0 ? '</span>' : ''
    depth++
    return `<span style="${code === 1 ? 'font-weight:700' : `color:${COLOURS[code] ?? 'inherit'}`}">`
  })
  return parts + '</span>'.repeat(Math.max(0, depth))
}

/** The dashboard, and a terminal that stands before its lower right corner. */
const together = (picture, text, isDark) => `<!doctype html><style>
  body { margin: 0; width: 1420px; height: 908px; position: relative; overflow: hidden; background: ${isDark ? '#0b0d10' : '#e9ecf1'} }
  img, pre { position: absolute; border-radius: 8px }
  img { left: 24px; top: 24px; border: 1px solid ${isDark ? '#2a2f37' : '#cfd4dc'} }
  pre { right: 24px; bottom: 24px; margin: 0; padding: 14px 18px; font: 12px/1.5 'DejaVu Sans Mono', monospace;
    background: ${isDark ? '#15181d' : '#20242b'}; color: #e4e7ec }
</style><img src="data:image/png;base64,${picture.toString('base64')}"><pre>${terminalHtml(text)}</pre>`

/** The parts of a PNG by their names, and its pixels: 8 bits for each of red, green and blue. */
const decoded = (png) => {
  const parts = { IDAT: [] }
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const name = png.toString('latin1', at + 4, at + 8)
    const part = png.subarray(at + 8, at + 8 + png.readUInt32BE(at))
    if (name === 'IDAT') parts.IDAT.push(part)
    else parts[name] = part
  }
  const [width, height] = [parts.IHDR.readUInt32BE(0), parts.IHDR.readUInt32BE(4)]
  if (parts.IHDR[9] !== 2) throw new Error('the browser made another kind of PNG')
  const lines = inflateSync(Buffer.concat(parts.IDAT))
  const row = width * 3
  const pixels = Buffer.alloc(height * row)
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (row + 1)]
    for (let i = 0; i < row; i++) {
      const left = i < 3 ? 0 : pixels[y * row + i - 3]
      const above = y === 0 ? 0 : pixels[(y - 1) * row + i]
      const corner = y === 0 || i < 3 ? 0 : pixels[(y - 1) * row + i - 3]
      const off = [left, above, corner].map((one) => Math.abs(left + above - corner - one))
      const paeth = off[0] <= off[1] && off[0] <= off[2] ? left : off[1] <= off[2] ? above : corner
      const guess = [0, left, above, (left + above) >> 1, paeth][filter]
      pixels[y * row + i] = lines[y * (row + 1) + 1 + i] + guess
    }
  }
  return { width, height, pixels }
}

const chunk = (name, data) => {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

const apart = (a, b) =>
  ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2

/** The same picture in its 256 most frequent colours, a third of the size; others are edges of letters, and take the nearest. */
const indexed = (png) => {
  const { width, height, pixels } = decoded(png)
  const colours = Array.from({ length: width * height }, (_, i) => pixels.readUIntBE(i * 3, 3))
  const counts = new Map()
  for (const one of colours) counts.set(one, (counts.get(one) ?? 0) + 1)
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([one]) => one)
  const nearest = new Map()
  for (const one of counts.keys())
    nearest.set(one, palette.reduce((best, other, i) => (apart(one, other) < apart(one, palette[best]) ? i : best), 0))
  const lines = Buffer.alloc(height * (width + 1))
  colours.forEach((one, i) => {
    lines[i + Math.floor(i / width) + 1] = nearest.get(one)
  })
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0])
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]))),
    chunk('IDAT', deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Of a page what is the same for any mail: its tags and classes, each once, and its headings. */
const frameOf = (page) =>
  page.evaluate(() => {
    const shapes = [...document.querySelectorAll('body *')].map((one) => `${one.tagName}.${[...one.classList].join('.')}`)
    const heads = [...document.querySelectorAll('h1,h2,h3,th,nav a')].map(({ textContent }) => textContent)
    return [...new Set(shapes), ...new Set(heads)].map((one) => one.replace(/\d[\d.,:]*/g, '0')).sort().join('\n')
  })

const digestOf = async (page) => {
  const hash = createHash('sha256')
  for (const path of PAGES) {
    await page.goto(path)
    const styles = await page.locator('link[rel=stylesheet]').evaluateAll((all) => all.map(({ href }) => href))
    for (const style of styles) hash.update(await (await page.request.get(style)).text())
    hash.update(await frameOf(page))
  }
  return hash.digest('hex')
}

const terminalText = () => {
  const ask = (lines, ...words) => {
    const said = postern(...words).split('\n').slice(0, lines).join('\n')
    return `\u001b[2m$\u001b[0m postern ${words.join(' ')}${lines < 20 ? ` | head -${lines}` : ''}\n${said}`
  }
  return [ask(7, 'stats'), ask(20, 'queue', 'throttles')].join('\n').trimEnd()
}

const windowOf = async (browser, base, token, colorScheme, size) => {
  const context = await browser.newContext({ baseURL: base, viewport: size, colorScheme })
  await context.addCookies([{ name: 'postern_session', value: token, url: base }])
  return context.newPage()
}

const take = async (browser, base, token) => {
  mkdirSync(OUT, { recursive: true })
  const text = terminalText()
  for (const scheme of ['light', 'dark']) {
    const page = await windowOf(browser, base, token, scheme, { width: 1180, height: 860 })
    await page.goto('/')
    await page.waitForLoadState('networkidle').catch(() => {})
    const picture = await page.screenshot()
    // by itself: the rules of the dashboard's pages would hold for it, too
    const frame = await browser.newPage({ viewport: { width: 1420, height: 908 } })
    await frame.setContent(together(picture, text, scheme === 'dark'))
    const file = join(OUT, `dashboard-${scheme}.png`)
    writeFileSync(file, indexed(await frame.screenshot()))
    if (statSync(file).size > MOST_OCTETS) throw new Error(`${file} has ${statSync(file).size} octets, at most ${MOST_OCTETS}`)
    console.log(`${file}  ${statSync(file).size} octets`)
  }
}

const daemon = spawn(PROGRAM, [...FIRST, 'dev', '--demo'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
try {
  const base = await started(daemon)
  const { token } = JSON.parse(postern('session', 'create', '--json'))
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    const page = await windowOf(browser, base, token, 'light', { width: 1180, height: 860 })
    const digest = await digestOf(page)
    if (!isCheck) {
      await take(browser, base, token)
      writeFileSync(DIGEST, `${digest}\n`)
    } else if (digest !== readFileSync(DIGEST, 'utf8').trim()) {
      console.error('the pages have changed since the pictures were made: run npm run pictures, look at them, commit')
      process.exitCode = 1
    }
  } finally {
    await browser.close()
  }
} finally {
  daemon.kill()
  await new Promise((resolve) => daemon.once('exit', resolve))
  rmSync(dir, { recursive: true, force: true })
}
