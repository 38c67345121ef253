import fc from 'fast-check'
import t from 'tap'
import { formatDuration, formatSize, parseDuration, parseSize } from '../../src/config/forms.js'

t.test('durations', async (t) => {
  for (const [text, ms] of [
    ['0', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['1.5h', 5_400_000],
    ['1h30m', 5_400_000],
    ['5d', 432_000_000],
    ['2W', 1_209_600_000],
  ] as const) {
    t.equal(parseDuration(text), ms, text)
  }
  for (const text of ['', '5', '5 m', 'm', '-1s', '1y', '1e3s', '9999999999999999999d'])
    t.equal(parseDuration(text), null, text)
  fc.assert(fc.property(fc.nat(), (ms) => parseDuration(formatDuration(ms)) === ms))
})

t.test('sizes', async (t) => {
  for (const [text, bytes] of [
    ['0', 0],
    ['1024', 1024],
    ['64kB', 64_000],
    ['64 KiB', 65_536],
    ['25MiB', 26_214_400],
    ['1.5gib', 1_610_612_736],
  ] as const) {
    t.equal(parseSize(text), bytes, text)
  }
  for (const text of ['', 'MiB', '-1', '1TB', '1e3', '5m']) t.equal(parseSize(text), null, text)
  fc.assert(fc.property(fc.nat(), (bytes) => parseSize(formatSize(bytes)) === bytes))
})
