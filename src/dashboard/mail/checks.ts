/**
 * NAME      checks - what might keep a mail from being read
 * DESCRIPTION
 *   Looked at without one request to the outside: the size, the parts, links, pictures, List-Unsubscribe, and what we
 *   know of the sending domain.
 */
import { fromRaw } from '../../mail/encoding.js'
import { fieldValue, scanHeader } from '../../mail/header.js'
import { type MailContent, MOST_HTML, readPart } from './content.js'
import { type Link, linksIn, picturesIn } from './links.js'

export interface Check {
  readonly name: string
  readonly state: 'ok' | 'look' | 'none'
  readonly says: string
}

/** Gmail cuts what is longer. */
const CLIPPED = 102 * 1024

export const sizeWords = (octets: number): string =>
  octets < 1_024
    ? `${octets} B`
    : octets < 1_048_576
      ? `${(octets / 1_024).toFixed(1)} KiB`
      : `${(octets / 1_048_576).toFixed(1)} MiB`

/** The fields of the header, each on one line, in their order. */
export const headersOf = (raw: Buffer): readonly (readonly [name: string, value: string])[] => {
  const head = raw.subarray(0, 256 * 1024)
  return scanHeader(head).fields.map((field) => [
    head.toString('latin1', field.start, Math.max(field.start, field.value - 1)).trim(),
    fromRaw(fieldValue(head, field)),
  ])
}

const has = (headers: ReturnType<typeof headersOf>, name: string): string | null =>
  headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null

export const checksOf = (
  content: MailContent,
): { readonly checks: readonly Check[]; readonly links: readonly Link[] } => {
  const { raw } = content
  const html = readPart(content, content.html, MOST_HTML).text
  const text = readPart(content, content.text).text
  const headers = headersOf(raw)
  const links = linksIn(content.html === null ? null : html, text)
  const pictures = picturesIn(html)
  const unsubscribe = has(headers, 'list-unsubscribe')
  const check = (name: string, good: boolean | null, says: string): Check => ({
    ...{ name, says },
    state: good === null ? 'none' : good ? 'ok' : 'look',
  })
  return {
    links,
    checks: [
      check('Size', raw.length < 10 * 1_048_576, `${sizeWords(raw.length)} in all.`),
      check(
        'HTML',
        content.html === null ? null : Buffer.byteLength(html) < CLIPPED,
        content.html === null
          ? 'It has none.'
          : Buffer.byteLength(html) < CLIPPED
            ? `${sizeWords(Buffer.byteLength(html))}.`
            : `${sizeWords(Buffer.byteLength(html))}: Gmail cuts it after 102 KiB.`,
      ),
      check(
        'Text part',
        content.text !== null,
        content.text === null
          ? 'It has none: some readers see nothing, and filters like it less.'
          : 'It has one.',
      ),
      check(
        'Pictures',
        pictures.all === 0 ? null : pictures.silent === 0,
        pictures.all === 0
          ? 'It has none.'
          : `${pictures.all}, ${pictures.remote} of them remote; ${pictures.silent} without an alt text.`,
      ),
      check(
        'Links',
        links.some(({ url }) => url.startsWith('http:')) ? false : links.length === 0 ? null : true,
        links.length === 0
          ? 'It has none.'
          : `${links.length}, to ${[...new Set(links.map(({ host }) => host))].slice(0, 5).join(', ')}${links.some(({ url }) => url.startsWith('http:')) ? '; some without TLS' : ''}.`,
      ),
      check(
        'List-Unsubscribe',
        unsubscribe === null ? null : true,
        unsubscribe === null ? 'Not there: needed for mail to many.' : unsubscribe.slice(0, 300),
      ),
    ],
  }
}
