/**
 * NAME      units - durations and sizes as people write them
 * DESCRIPTION
 *   `90s`, `5m`, `4h`, `5d`, and sums such as `1h30m`; `25MiB`, `64kB`, or a bare
 *   number of bytes. A bare number is no duration: nobody agrees on its unit.
 */
const MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const BYTES: Record<string, number> = {
  b: 1,
  kb: 1000,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
}

/** Milliseconds, or null when the text is no duration. */
export const parseDuration = (text: string): number | null => {
  const bare = text.trim().toLowerCase()
  if (bare === '0') return 0
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(bare)) return null
  let sum = 0
  for (const [, count, unit] of bare.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    sum += Number(count) * (MS[unit ?? ''] ?? Number.NaN)
  }
  return Number.isSafeInteger(Math.round(sum)) ? Math.round(sum) : null
}

/** Bytes, or null when the text is no size. */
export const parseSize = (text: string): number | null => {
  const parts = /^(\d+(?:\.\d+)?)\s*([kmg]i?b|b)?$/i.exec(text.trim())
  if (parts === null) return null
  const bytes = Math.round(Number(parts[1]) * (BYTES[(parts[2] ?? 'b').toLowerCase()] ?? Number.NaN))
  return Number.isSafeInteger(bytes) ? bytes : null
}

const inUnits = (value: number, units: readonly (readonly [string, number])[], fallback: string): string => {
  const unit = units.find(([, size]) => value >= size && value % size === 0)
  return unit === undefined ? `${value}${fallback}` : `${value / unit[1]}${unit[0]}`
}

/** 300000 becomes `5m`. */
export const formatDuration = (ms: number): string =>
  ms === 0
    ? '0'
    : inUnits(
        ms,
        ['d', 'h', 'm', 's'].map((unit) => [unit, MS[unit] ?? 1] as const),
        'ms',
      )

/** 26214400 becomes `25MiB`. */
export const formatSize = (bytes: number): string =>
  inUnits(
    bytes,
    [
      ['GiB', 1024 ** 3],
      ['MiB', 1024 ** 2],
      ['KiB', 1024],
    ],
    '',
  )
