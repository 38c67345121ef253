/**
 * NAME      span - one for each request under /v1
 * DESCRIPTION
 *   From the first byte that hapi sees to the last one that leaves, under the
 *   client's `traceparent`. Names are those of the semantic conventions; a path
 *   with an id in it stands as its route, and neither query nor address is told.
 */
import type { Request } from '@hapi/hapi'
import { readTraceparent, type Span, type Spans } from '../../base/observe/trace.js'

export const beginSpan = (spans: Spans, request: Request): Span | null => {
  if (!request.path.startsWith('/v1/')) return null
  const method = request.method.toUpperCase()
  return spans.start({
    name: method,
    kind: 'server',
    parent: readTraceparent(request.raw.req.headers.traceparent as string | undefined),
    attributes: {
      'http.request.method': method,
      'url.scheme': request.server.info.protocol,
      'postern.request_id': request.app.id,
    },
  })
}

export const endSpan = (request: Request): void => {
  const { span } = request.app
  if (!span) return
  const { statusCode } = request.raw.res
  const route = request.route.path
  const { workspace, fault } = request.app
  span.name(`${request.method.toUpperCase()} ${route}`)
  span.set({
    'http.route': route,
    'http.response.status_code': statusCode,
    ...(workspace && { 'postern.workspace_id': workspace.id }),
    ...(fault !== undefined && { 'error.type': fault }),
  })
  // a refusal is the client's failure, not the server's
  span.end(statusCode >= 500 ? (fault ?? String(statusCode)) : null)
}
