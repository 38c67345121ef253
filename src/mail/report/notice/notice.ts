/**
 * NAME      notice - the words for people, without the returned mail
 * DESCRIPTION
 *   Joins the readable top-level parts and cuts off whatever is a copy of the
 *   original, so that no grammar reads the returned mail as if the MTA had
 *   written it. Lines quoted with `>` are dropped (people quote; MTAs do not),
 *   but `>>>` and `<<<` of a transcript stay.
 */
import { isReturned, type Mail, readableOf } from '../mime.js'
import { ORIGINAL_BELOW, RULER } from './phrases.js'

const MAX_CHARS = 64_000
const MAX_LINES = 800
const MAX_LINE = 1_000

export interface Notice {
  readonly lines: readonly string[]
  /** The same in lower case, to look addresses up in. */
  readonly lower: readonly string[]
  /** The lines as one text. */
  readonly text: string
  /** The text on one line, for phrases that may be wrapped anywhere. */
  readonly flat: string
  /** What was cut off a single-part notice: the returned message, or its header. */
  readonly returned: string
}

const HEADERISH = /^(?:[A-Za-z][A-Za-z0-9-]{0,60}:|[ \t])/
const HEADER_START =
  /^>?(?:Received|Return-Path|DKIM-Signature|X-Google-[\w-]+|X-Received|Delivered-To|X-Originating-IP|X-Apparently-To|Message-ID|Mime-Version|X-Envelope-From)[ \t]*:/i

/** A mail header begins here: a telling field with another one under it. */
const startsHeader = (lines: readonly string[], at: number): boolean => {
  if (!HEADER_START.test(lines[at] ?? '')) return false
  const next = lines[at + 1] ?? ''
  return next === '' ? false : HEADERISH.test(next)
}

const cutAt = (lines: readonly string[]): number => {
  let named = false
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    // A heading may read like such a marker ("Returned mail"), but above it nobody is named yet.
    if (named && line.length < 200 && ORIGINAL_BELOW.test(line.replace(RULER, ''))) return at
    if (startsHeader(lines, at)) return at
    named ||= line.includes('@')
  }
  return lines.length
}

const quoted = (line: string): boolean =>
  /^\s*>(?!>>|[>\s]{0,20}(?:[45]\d\d|rcpt to:|[^\s@]{1,100}@))/i.test(line)

/** What Sendmail makes of any 550, under the words of the server that said it. */
const OWN_GUESS = /^(550 )5\.1\.1 (.{1,500}\.\.\.) User unknown$/
/** What a server says to DATA when nobody is left: it tells nothing more of whom. */
const NOBODY_LEFT = /^(<<< )50[0-5][ -].{0,80}\b(?:recipients?|rcpt)\b.*/i

/** The far server's words stand, and the guess goes. */
const withoutGuesses = (lines: readonly string[]): string[] =>
  lines.map((line, at) =>
    lines[at - 1]?.startsWith('<<<') ? line.replace(OWN_GUESS, '$1$2') : line.replace(NOBODY_LEFT, '$1'),
  )

const split = (text: string): string[] =>
  text
    .slice(0, MAX_CHARS)
    .split('\n', MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE).trimEnd())

/** The human text before the first returned part; attachments after it are copies too. */
const readable = (mail: Mail): string => {
  const texts: string[] = []
  for (const part of mail.parts) {
    if (isReturned(part, mail.headers)) break
    const text = readableOf(part)
    if (text.trim() !== '') texts.push(text)
  }
  return texts.join('\n\n')
}

const noticeOfText = (text: string): Notice => {
  const lines = split(text)
  const cut = cutAt(lines)
  const kept = withoutGuesses(lines.slice(0, cut).filter((line) => !quoted(line)))
  return {
    lines: kept,
    lower: kept.map((line) => line.toLowerCase()),
    text: kept.join('\n'),
    flat: kept.join(' ').replace(/\s+/g, ' '),
    returned: lines.slice(cut).join('\n'),
  }
}

export const noticeOf = (mail: Mail): Notice => noticeOfText(readable(mail))
