/**
 * NAME      installation - where clients reach this Postern
 * DESCRIPTION
 *   What a client must be configured with, apart from its key: the base URL, and host, port and TLS of the SMTP door.
 */
import { isLoopback } from '../../../base/network.js'
import type { Deps } from '../../deps.js'
import { type Endpoint, endpoint } from '../../endpoint.js'
import * as shapes from '../../shapes/operate/installation.js'

export const installation = (deps: Deps, baseUrl: () => string): readonly Endpoint[] => [
  endpoint({
    id: 'getInstallation',
    method: 'GET',
    path: '/v1/installation',
    summary: 'Where clients reach this Postern, over HTTP and SMTP',
    description: 'Ports are those that it really listens on.',
    access: 'any',
    workspace: 'none',
    answers: { 200: shapes.installation },
    faults: [],
    async handle() {
      const { hostname, submission, bounce } = deps.config
      const open = deps.door?.addresses ?? []
      return {
        status: 200,
        body: {
          object: 'installation',
          base_url: baseUrl(),
          hostname,
          bounce_domain: bounce.domain,
          submission: submission.map(({ host, port, tls, ip_credentials }, at) => ({
            host: isLoopback(host) ? host : hostname,
            port: open[at]?.port ?? port,
            tls,
            ip_credentials,
          })),
        },
      }
    },
  }),
]
