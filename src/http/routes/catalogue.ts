/**
 * NAME      catalogue - GET /errors
 * DESCRIPTION
 *   The Fault table, for programs as JSON and for people as a page. Every problem's
 *   `type` leads here, so each code has an address of its own. Public: a client
 *   that could not authenticate must be able to read why.
 */
import { FAULTS, Fault, type FaultCode } from '../../base/fault.js'
import { type Answer, type Call, type Endpoint, endpoint, param } from '../endpoint.js'
import * as shapes from '../shapes/catalogue.js'
import { typeUrl } from '../wire/problem.js'

const entry = (baseUrl: string, code: FaultCode) => {
  const { http, title, description, retryable } = FAULTS[code]
  return { code, type: typeUrl(baseUrl, code), status: http, title, description, retryable }
}

type Entry = ReturnType<typeof entry>

/** True when the client would rather have HTML: it names it, and with no lesser weight than JSON. */
const wantsHtml = (call: Call): boolean => {
  const accept = call.req.headers.accept ?? ''
  const weight = (type: string): number => {
    const range = accept.split(',').find((one) => one.trim().toLowerCase().startsWith(type))
    return range === undefined ? 0 : Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1)
  }
  return weight('text/html') > Math.max(weight('application/json'), weight('application/problem+json'))
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[char] ?? '&quot;')

const row = (one: Entry): string =>
  `<dt id="${one.code}"><a href="${one.type}"><code>${one.code}</code></a> ${one.status} ${escapeHtml(one.title)}</dt>
<dd>${escapeHtml(one.description)}${one.retryable ? ' Retrying may help.' : ''}</dd>`

const page = (title: string, entries: readonly Entry[]): Answer => ({
  status: 200,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'",
    'x-content-type-options': 'nosniff',
  },
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width">
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui;max-width:46rem;margin:2rem auto;padding:0 1rem}dt{margin-top:1rem;font-weight:600}dd{margin:0}</style>
<h1>${title}</h1><dl>${entries.map(row).join('\n')}</dl></html>`,
})

export const catalogue = (baseUrl: () => string): readonly Endpoint[] => {
  const entries = () => (Object.keys(FAULTS) as FaultCode[]).map((code) => entry(baseUrl(), code))
  return [
    endpoint({
      id: 'listErrors',
      method: 'GET',
      path: '/errors',
      summary: 'Every error that this API can answer',
      description: 'JSON, or a page for `Accept: text/html`. Needs no credential.',
      access: 'public',
      workspace: 'none',
      answers: { 200: shapes.errorCatalogue },
      faults: [],
      handle: async (call) =>
        wantsHtml(call)
          ? page('Errors', entries())
          : { status: 200, body: { object: 'error_catalog', version: 'v1', errors: entries() } },
    }),
    endpoint({
      id: 'getError',
      method: 'GET',
      path: '/errors/{code}',
      summary: 'One error type',
      description:
        'Where the `type` of a problem leads. JSON, or a page for `Accept: text/html`. Needs no credential.',
      access: 'public',
      workspace: 'none',
      answers: { 200: shapes.errorType },
      faults: ['error_type.not_found'],
      async handle(call) {
        const found = entries().find(({ code }) => code === param(call, 'code'))
        if (!found) throw new Fault('error_type.not_found')
        return wantsHtml(call) ? page(found.code, [found]) : { status: 200, body: found }
      },
    }),
  ]
}
