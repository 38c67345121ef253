/**
 * NAME      catalogue - GET /errors
 * DESCRIPTION
 *   The fault table for programs; people get a page at the same addresses. Every
 *   problem's `type` leads here, so each code has an address of its own. Public: a
 *   client that could not authenticate must be able to read why.
 */

import { FAULTS, type FaultCode } from '../../base/fault/table.js'
import { Fault } from '../../base/fault.js'
import { type Endpoint, endpoint, param } from '../endpoint.js'
import * as shapes from '../shapes/catalogue.js'
import { typeUrl } from '../wire/problem.js'

const entry = (baseUrl: string, code: FaultCode) => {
  const { http, smtp, title, description, remedy, retryable } = FAULTS[code]
  return { code, type: typeUrl(baseUrl, code), status: http, title, description, remedy, retryable, smtp }
}

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
      hasPage: true,
      workspace: 'none',
      answers: { 200: shapes.errorCatalogue },
      faults: [],
      handle: async () => ({
        status: 200,
        body: { object: 'error_catalog', version: 'v1', errors: entries() },
      }),
    }),
    endpoint({
      id: 'getError',
      method: 'GET',
      path: '/errors/{code}',
      summary: 'One error type',
      description:
        'Where the `type` of a problem leads. JSON, or a page for `Accept: text/html`. Needs no credential.',
      access: 'public',
      hasPage: true,
      workspace: 'none',
      answers: { 200: shapes.errorType },
      faults: ['error_type.not_found'],
      async handle(call) {
        const found = entries().find(({ code }) => code === param(call, 'code'))
        if (!found) throw new Fault('error_type.not_found')
        return { status: 200, body: found }
      },
    }),
  ]
}
