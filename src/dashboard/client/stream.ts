/**
 * NAME      stream - server-sent events, read by hand
 * DESCRIPTION
 *   EventSource gives up for good on any answer but 200, and does not say why. This one waits and comes back where it
 *   was, backs off when it is told to, and says when the sign-in is over.
 */
export interface Said {
  /** Its place in the log. */
  readonly id: string
  readonly type: string
  readonly data: string
}

export type StreamState = 'live' | 'waiting' | 'signed-out'

interface Reader {
  /** Where to go on; null: from now. */
  readonly after: () => string | null
  readonly hear: (said: Said) => void
  readonly tell: (state: StreamState) => void
  readonly signal: AbortSignal
}

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

const blockOf = (text: string): Said => {
  const fields: Record<string, string> = {}
  for (const line of text.split('\n')) {
    const at = line.indexOf(':')
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, '')
  }
  return { id: fields.id ?? '', type: fields.event ?? '', data: fields.data ?? '' }
}

const readAll = async (body: ReadableStream<Uint8Array>, hear: Reader['hear']): Promise<void> => {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) hear(blockOf(block))
  }
}

/** Until the signal, or the end of the sign-in. */
export const follow = async (path: string, { after, hear, tell, signal }: Reader): Promise<void> => {
  let wait = FIRST_WAIT_MS
  while (!signal.aborted) {
    try {
      const mark = after()
      const headers = mark === null ? {} : { 'last-event-id': mark }
      const answer = await fetch(path, { headers, signal, cache: 'no-store', redirect: 'error' })
      if (answer.status === 401 || answer.status === 403) {
        tell('signed-out')
        return
      }
      if (answer.ok && answer.body !== null) {
        tell('live')
        wait = FIRST_WAIT_MS
        await readAll(answer.body, hear)
      } else {
        wait = Math.max(wait, Number(answer.headers.get('retry-after') ?? 0) * 1_000)
      }
    } catch {
      // lost on the way, or the page goes
    }
    if (signal.aborted) return
    tell('waiting')
    await pause(wait + Math.random() * wait, signal)
    wait = Math.min(wait * 2, LONGEST_WAIT_MS)
  }
}
