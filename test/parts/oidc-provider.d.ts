/** oidc-provider brings no types; the rig in oidc.ts needs these few. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (req: IncomingMessage, res: ServerResponse) => Promise<void>
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<{ prompt: { name: string } }>
    interactionFinished(req: IncomingMessage, res: ServerResponse, result: object): Promise<void>
    on(event: string, listener: (...args: unknown[]) => void): this
  }
}
