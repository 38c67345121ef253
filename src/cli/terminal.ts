/**
 * NAME      terminal - what a command says, and where
 *   stdout is data, stderr is talk. With --json the data is one document, the
 *   API's own record or an array of them; without it, a table for people.
 *   Colour only on a terminal and without NO_COLOR. A reader that goes away
 *   (`| head`) ends the program quietly.
 *   `-` is standard input. It is read as a stream, since /dev/stdin can not be opened when it is a socket, which is what
 *   many parents hand down.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import pc from 'picocolors'
import { escapeLines, escapeWild } from '../base/text.js'
import { usage } from './exit.js'
import { PAGE_WIDTH, type Paint, spanText } from './table.js'

export const STDIN = '-'

/** All of it. */
const readStream = async (stream: NodeJS.ReadableStream): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

/** Where a command line reads and writes: those of the process, or a test's own. */
export interface Streams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown }
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
}

export interface Terminal {
  readonly json: boolean
  readonly paint: Paint
  /** True when a person reads stdout. */
  readonly isTty: boolean
  /** The command's answer: `record` with --json, else what `human` makes. */
  data(record: unknown, human: (paint: Paint) => string): void
  /** Raw data, such as CSV or one JSON line of a stream. */
  write(text: string): void
  /** A piece of data that is ready to be written, ends of lines included; waits for a reader that is slow. */
  piece(text: string): Promise<void>
  /** A file of octets, as they are. */
  writeOctets(octets: Uint8Array): void
  /** A remark to the person, on stderr. */
  say(text: string): void
  /** How far it is: one line on stderr, which the next words replace; nothing where nobody looks. */
  progress(text: string): void
  /** Asks before something is destroyed; off a terminal only --yes will do. */
  confirm(what: string, yes: boolean): Promise<void>
  /** Standard input as it comes. */
  readonly stdin: AsyncIterable<string | Buffer>
  /** The content of a file; `-` is standard input. */
  readInput(file: string): Promise<Buffer>
  /** One line from the person, or from a pipe; hidden when it is a secret. */
  readSecret(prompt: string): Promise<string>
}

const line = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`)

/** The terminal echoes in its own mode, so raw mode is the only way to hide a secret; its ^C, ^D, ^U are ours then. */
const readHidden = async ({ stdin, stderr }: Streams, prompt: string): Promise<string> => {
  stderr.write(prompt)
  stdin.setRawMode?.(true)
  try {
    let text = ''
    for await (const chunk of stdin) {
      for (const char of String(chunk)) {
        if (char === '\r' || char === '\n') return text
        if (char === '\u0003' || char === '\u0004') throw usage('nothing was changed')
        if (char === '\u007f' || char === '\b') text = text.slice(0, -1)
        else if (char === '\u0015') text = ''
        else if (char >= ' ') text += char
      }
    }
    return text
  } finally {
    stdin.setRawMode?.(false)
    stderr.write('\n')
  }
}

const ask = async ({ stdin, stderr }: Streams, what: string): Promise<void> => {
  if (stdin.isTTY !== true) throw usage(`${what}: add --yes to do it, or --dry-run to look first`)
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: stdin, output: stderr })
  const answer = await lines.question(`${escapeLines(what)}. Go on? [y/N] `)
  lines.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw usage('nothing was changed')
}

/**
 * Ends the process when nobody reads its data any more; call once, before the first write. That nobody hears the talk is no
 * reason to leave work half done.
 */
export const surviveClosedPipes = (): void => {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 74))
  process.stderr.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') process.exit(74)
  })
}

/** COLUMNS makes a page of a pipe, too. */
const paintFor = ({ stdout: { isTTY, columns } }: Streams, json: boolean): Paint => {
  const coloured = isTTY === true && !json && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  const given = Number(process.env.COLUMNS)
  const width = isTTY === true ? columns || given || PAGE_WIDTH : given || Number.POSITIVE_INFINITY
  return { ...pc.createColors(coloured), width }
}

export const openTerminal = (json: boolean, streams: Streams): Terminal => {
  const { stdin, stdout, stderr } = streams
  const isTty = stdout.isTTY === true
  const paint = paintFor(streams, json)
  const write = (text: string): void => {
    // into a file or a pipe data goes as it is; JSON says the same with escapes
    if (text !== '') stdout.write(line(isTty ? escapeLines(text) : json ? escapeWild(text) : text))
  }
  let isProgress = false
  const wipe = (): string => {
    const was = isProgress
    isProgress = false
    return was ? '\r\u001b[K' : ''
  }
  return {
    ...{ json, paint, stdin, isTty, write },
    writeOctets: (octets) => {
      if (isTty) write(Buffer.from(octets).toString())
      else stdout.write(octets)
    },
    piece: async (text) => {
      stderr.write(wipe())
      const shown = isTty ? escapeLines(text.replaceAll('\r\n', '\n')) : text
      if (!stdout.write(shown)) await once(stdout, 'drain')
    },
    readInput: (file) => (file === STDIN ? readStream(stdin) : readFile(file)),
    say: (text) => {
      stderr.write(`${wipe()}${line(escapeLines(text))}`)
    },
    progress(text) {
      if (stderr.isTTY !== true) return
      stderr.write(`${wipe()}${escapeLines(text)}`)
      isProgress = true
    },
    data: (record, human) => {
      stderr.write(wipe())
      write(json ? JSON.stringify(record, null, isTty ? 2 : 0) : human(paint))
    },
    confirm: async (what, yes) => {
      if (!yes) await ask(streams, what)
    },
    readSecret: async (prompt) => {
      const text = stdin.isTTY === true ? await readHidden(streams, prompt) : String(await readStream(stdin))
      return text.replace(/\r?\n.*$/s, '')
    },
  }
}

/** For a person who waits: how far it is, how fast, and how long it will still take. */
export const tellProgress = (terminal: Terminal, all: number): ((done: number) => void) => {
  const began = Date.now()
  return (done) => {
    const spent = Math.max(1, Date.now() - began)
    const left = Math.ceil((spent * (all - done)) / Math.max(1, done) / 1000) * 1000
    terminal.progress(
      `${done} of ${all}, ${Math.round((done * 1000) / spent)} a second, ${spanText(left)} remaining`,
    )
  }
}

/** Nobody is told of what takes less. */
const LONG_MS = 2000

/** For a person who waits for what cannot say how far it is: what it is, and for how long. */
export const whileAt = async <T>(terminal: Terminal, what: string, work: Promise<T>): Promise<T> => {
  const began = Date.now()
  const timer = setInterval(() => {
    const spent = Date.now() - began
    if (spent >= LONG_MS) terminal.progress(`${what} for ${spanText(spent)}`)
  }, 1000)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

/** Ends the work at a ^C; the second one ends the process. */
export const withInterrupt = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.once(signal, end)
  try {
    return await work(ended.signal)
  } finally {
    for (const signal of signals) process.removeListener(signal, end)
  }
}
