/**
 * NAME      credentials - names and passwords for the SMTP door
 * DESCRIPTION
 *   For people only, like keys. Removing one is immediate: an open SMTP session is
 *   refused at its next mail.
 */
import { removed } from '../../record/removed.js'
import { checkNewCredential } from '../../tenant/credential.js'
import { type Endpoint, endpoint, param } from '../endpoint.js'
import { type Ground, pageFor } from '../ground.js'
import * as render from '../render.js'
import { whyBody } from '../shapes/common.js'
import * as shapes from '../shapes/credential.js'
import { pageOnly } from '../shapes/workspace.js'

const PEOPLE_ONLY = { access: 'session', workspace: 'none' } as const

export const credentials = (ground: Ground): readonly Endpoint[] => [
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
    alsoWrong: ({ body }, told) =>
      told.has('body.cidr')
        ? []
        : checkNewCredential({ ...body, certificateFingerprint: body.certificate_fingerprint }),
    async handle({ principal, body }) {
      const row = await ground.tenants.createCredential(principal.accountId, {
        workspace: body.workspace_id,
        mode: body.mode,
        username: body.username,
        password: body.password,
        cidr: body.cidr,
        certificateFingerprint: body.certificate_fingerprint,
      })
      return { status: 201, body: render.credential(row) }
    },
  }),
  endpoint({
    ...PEOPLE_ONLY,
    id: 'listCredentials',
    method: 'GET',
    path: '/v1/credentials',
    summary: 'SMTP credentials, newest first',
    description: 'Without passwords.',
    query: pageOnly,
    answers: { 200: shapes.credentialList },
    faults: ['validation.cursor_invalid', 'validation.cursor_filters_mismatch'],
    async handle(call) {
      const body = await pageFor(ground, 'credentials', call, {
        query: call.query,
        filters: {},
        fetch: (page) => ground.store.credentials(call.principal.accountId, page),
        render: render.credential,
      })
      return { status: 200, body }
    },
  }),
  endpoint({
    ...PEOPLE_ONLY,
    id: 'revokeCredential',
    method: 'DELETE',
    path: '/v1/credentials/{id}',
    summary: 'Revoke an SMTP credential, at once and for good',
    description: 'An open SMTP session is refused at its next mail.',
    body: whyBody,
    answers: { 200: shapes.removedCredential },
    faults: ['credential.not_found'],
    async handle(call) {
      const id = param(call, 'id')
      await ground.tenants.revokeCredential(call.principal.accountId, id)
      return { status: 200, body: removed('credential', id) }
    },
  }),
]
