/**
 * NAME      server - smtp-server without its pause
 * DESCRIPTION
 *   The sandbox's listener: greets at once (the library waits 100 ms), asks no
 *   DNS, holds no certificate, and prints one enhanced code per reply: a text
 *   that begins with one is not given another.
 */
import type { Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection'

class PromptConnection extends SMTPConnection {
  override init(): void {
    this._setListeners(() => this.connectionReady())
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, data, typeof data === 'string' && /^[245]\.\d+\.\d+ /.test(data) ? false : context)
  }
}

export class PromptServer extends SMTPServer {
  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new PromptConnection(this, socket, options)
    this.connections.add(connection)
    connection.on('error', (error) => this._onError(error))
    connection.init()
  }

  override updateSecureContext(): void {
    this.secureContext = new Map()
  }
}
