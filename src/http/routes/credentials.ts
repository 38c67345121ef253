/**
 * NAME      credentials - names and passwords for the SMTP door
 * DESCRIPTION
 *   For people only, like keys. Removing one is immediate: an open SMTP session is
 *   refused at its next mail.
 */

import { credentialRecord } from '../../record/tenants/access.js'
import { checkNewCredential } from '../../tenant/credential.js'
import { type Deps, listing, removing } from '../deps.js'
import { type Endpoint, endpoint } from '../endpoint.js'
import { whyBody } from '../shapes/common.js'
import * as shapes from '../shapes/credential.js'
import { camel } from '../wire/camel.js'

const PEOPLE_ONLY = { access: 'session', workspace: 'none' } as const

export const credentials = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...PEOPLE_ONLY,
    id: 'createCredential',
    method: 'POST',
    path: '/v1/credentials',
    summary:
      'Make an SMTP credential: a user name with a password, a private address range, or a client certificate',
    description:
      'Opens the SMTP door only. Either `username` with `password`, kept as a hash, or `cidr` with neither, for devices that cannot log in, or `certificate_fingerprint`, the SHA-256 of a certificate that the client shows.',
    body: shapes.credentialBody,
    answers: { 201: shapes.credential },
    faults: ['workspace.not_found'],
    // whether the others are wrong depends on the range
    alsoWrong: ({ body }, told) => (told.has('body.cidr') ? [] : checkNewCredential(camel(body))),
    async handle({ principal, body }) {
      const row = await deps.tenants.createCredential(principal.accountId, {
        ...camel(body),
        workspace: body.workspace_id,
      })
      return { status: 201, body: credentialRecord(row) }
    },
  }),
  listing(deps, {
    ...PEOPLE_ONLY,
    id: 'listCredentials',
    path: '/v1/credentials',
    summary: 'SMTP credentials, newest first',
    description: 'Without passwords.',
    of: shapes.credential,
    rows: ({ principal }) => ({
      fetch: (page) => deps.store.credentials(principal.accountId, page),
      render: credentialRecord,
    }),
  }),
  removing({
    ...PEOPLE_ONLY,
    id: 'revokeCredential',
    path: '/v1/credentials/{id}',
    summary: 'Revoke an SMTP credential, at once and for good',
    description: 'An open SMTP session is refused at its next mail.',
    body: whyBody,
    of: shapes.credential,
    object: 'credential',
    remove: ({ principal }, id) => deps.tenants.revokeCredential(principal.accountId, id),
  }),
]
