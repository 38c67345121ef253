/** The yardstick of http.ts: hapi parses JSON and answers 202, nothing else. */
import { server as createServer } from '@hapi/hapi'

const server = createServer({ port: 0, host: '127.0.0.1' })
server.route({
  method: 'POST',
  path: '/v1/emails',
  handler: (request, h) => h.response({ id: 'em_0', to: (request.payload as { to: string }).to }).code(202),
})
await server.start()
process.send?.(server.info.port)
