/**
 * NAME      crash - what may be said about an error that nobody expected
 * DESCRIPTION
 *   Such an error can carry anything in its message. What looks like a key, a
 *   password in a URL or an address is cut out; the frames of the stack name
 *   our own files and stay.
 */
const CUTS: readonly (readonly [RegExp, string])[] = [
  [/\b(svc|ses|key|sk)_[A-Za-z0-9_-]{8,}/g, '$1_[cut]'],
  [/(:\/\/[^\s:@/]*):[^\s@/]+@/g, '$1:[cut]@'],
  [/\b(Bearer|Basic|PLAIN|LOGIN)\s+[A-Za-z0-9+/=._-]{8,}/gi, '$1 [cut]'],
  [/\b(password|secret|token|pepper|authorization)(["']?\s*[:=]\s*)\S+/gi, '$1$2[cut]'],
  [/[^\s<>"']+@[^\s<>"']+/g, '[address]'],
]

export const scrub = (text: string): string =>
  CUTS.reduce((said, [pattern, cut]) => said.replace(pattern, cut), text)

/** Fields for one fatal log line. */
export const crashFacts = (error: unknown): Readonly<Record<string, string>> => {
  if (!(error instanceof Error)) return { error: scrub(String(error)) }
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const { code } = error as NodeJS.ErrnoException
  return {
    error: `${error.name}: ${scrub(error.message)}`,
    ...(typeof code === 'string' && { code }),
    stack: frames.map((line) => line.trim()).join(' | '),
  }
}
