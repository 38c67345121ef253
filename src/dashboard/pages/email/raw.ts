/**
 * NAME      raw - routes that answer octets of a mail
 * DESCRIPTION
 *   Somebody else wrote them, so none of these answers can act in the name of this site: the preview is sandboxed by its
 *   own policy and shown in a frame only, a report is plain text and nothing else, and the rest is saved as a file that
 *   no browser opens by itself.
 */
import { AskError } from '../../ask.js'
import { cleanHtml } from '../../mail/clean-html.js'
import { demandContent, type MailContent, MOST_HTML, readPart } from '../../mail/content.js'
import { octetsOf } from '../../mail/mime-parts.js'
import { asAttachment, saveName } from '../../mail/save-name.js'
import type { Raw, RawRoute } from '../../page.js'
import type { Visit } from '../../visit.js'

/** Of all pictures in one preview. */
const MOST_PICTURES = 8 * 1024 * 1024

const policy = (images: boolean): string =>
  [
    'sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    images ? 'img-src data: https: http:' : 'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ')

const headersFor = (type: string, images = false): Readonly<Record<string, string>> => ({
  'content-type': type,
  'content-security-policy': policy(images),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
})

const file = (body: Buffer, name: string): Raw => ({
  status: 200,
  headers: { ...headersFor('application/octet-stream'), 'content-disposition': asAttachment(name) },
  body,
})

const refuse = (status: number, title: string, detail: string): never => {
  throw new AskError({ title, status, code: 'route.not_found', detail })
}

const PICTURE = /^image\/(?:png|jpe?g|gif|webp|bmp|avif|x-icon)$/

const pictureOf = (content: MailContent) => {
  let room = MOST_PICTURES
  return (contentId: string): string | null => {
    const leaf = content.attachments.find((one) => one.contentId === contentId)
    if (leaf === undefined || !PICTURE.test(leaf.type) || leaf.end - leaf.start > room) return null
    room -= leaf.end - leaf.start
    return `data:${leaf.type};base64,${octetsOf(content.raw, leaf).toString('base64')}`
  }
}

const preview = async (visit: Visit): Promise<Raw> => {
  const dest = visit.header('sec-fetch-dest')
  if (dest !== null && dest !== 'iframe')
    refuse(
      403,
      'Only in its frame',
      'The preview of a mail is shown in the page of the mail, and nowhere else.',
    )
  const images = visit.query('images') === 'once'
  const content = await demandContent(visit, visit.params.id ?? '')
  const { text } = readPart(content, content.html, MOST_HTML)
  const { html } = await cleanHtml(text, {
    ...{ images, picture: pictureOf(content) },
    never: [new URL(visit.baseUrl).host],
  })
  const body = `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light">${html}`
  return { status: 200, headers: headersFor('text/html; charset=utf-8', images), body }
}

const source = async (visit: Visit): Promise<Raw> => {
  const id = visit.params.id ?? ''
  const { raw } = await demandContent(visit, id)
  return file(raw, saveName(`${id}.eml`, 'mail.eml'))
}

const attachment = async (visit: Visit): Promise<Raw> => {
  const { id = '', n = '' } = visit.params
  const content = await demandContent(visit, id)
  const leaf = /^[1-9]\d{0,2}$/.test(n) ? content.attachments[Number(n) - 1] : undefined
  if (leaf === undefined)
    return refuse(404, 'No such attachment', 'The mail has no attachment of this number.')
  return file(octetsOf(content.raw, leaf), saveName(leaf.filename, `part-${n}`))
}

const report = async (visit: Visit): Promise<Raw> => {
  const [id = '', event = ''] = [visit.params.id, visit.params.event].map((one) =>
    encodeURIComponent(one ?? ''),
  )
  const answer = await visit.fetch('GET', `/v1/emails/${id}/events/${event}/report`)
  if (answer.status >= 400) throw new AskError(JSON.parse(answer.bytes.toString('utf8')))
  return { status: 200, headers: headersFor('text/plain; charset=utf-8'), body: answer.bytes }
}

export const EMAIL_ROUTES: readonly RawRoute[] = [
  { path: '/emails/{id}/preview', answer: preview },
  { path: '/emails/{id}/source', answer: source },
  { path: '/emails/{id}/events/{event}/report', answer: report },
  { path: '/emails/{id}/attachments/{n}', answer: attachment },
]
