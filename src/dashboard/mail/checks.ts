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

interface Check {
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

const check = (name: string, good: boolean | null, says: string): Check => ({
  ...{ name, says },
  state: good === null ? 'none' : good ? 'ok' : 'look',
})

const ofHtml = (html: string): Check => {
  const size = Buffer.byteLength(html)
  const isWhole = size < CLIPPED
  return check('HTML', isWhole, `${sizeWords(size)}${isWhole ? '.' : ': Gmail cuts it after 102 KiB.'}`)
}

const ofPictures = ({ all, remote, silent }: ReturnType<typeof picturesIn>): Check =>
  all === 0
    ? check('Pictures', null, 'It has none.')
    : check('Pictures', silent === 0, `${all}, ${remote} of them remote; ${silent} without an alt text.`)

const ofLinks = (links: readonly Link[]): Check => {
  if (links.length === 0) return check('Links', null, 'It has none.')
  const isClear = links.some(({ url }) => url.startsWith('http:'))
  const hosts = [...new Set(links.map(({ host }) => host))].slice(0, 5).join(', ')
  return check('Links', !isClear, `${links.length}, to ${hosts}${isClear ? '; some without TLS' : ''}.`)
}

interface Checked {
  readonly checks: readonly Check[]
  readonly links: readonly Link[]
}

export const checksOf = (content: MailContent): Checked => {
  const { raw } = content
  const html = content.html === null ? null : readPart(content, content.html, MOST_HTML).text
  const links = linksIn(html, readPart(content, content.text).text)
  const unsubscribe = has(headersOf(raw), 'list-unsubscribe')
  const noText = 'It has none: some readers see nothing, and filters like it less.'
  return {
    links,
    checks: [
      check('Size', raw.length < 10 * 1_048_576, `${sizeWords(raw.length)} in all.`),
      html === null ? check('HTML', null, 'It has none.') : ofHtml(html),
      check('Text part', content.text !== null, content.text === null ? noText : 'It has one.'),
      ofPictures(picturesIn(html ?? '')),
      ofLinks(links),
      unsubscribe === null
        ? check('List-Unsubscribe', null, 'Not there: needed for mail to many.')
        : check('List-Unsubscribe', true, unsubscribe.slice(0, 300)),
    ],
  }
}
