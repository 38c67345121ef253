/**
 * NAME      message - submission of a finished message, as SMTP brings it
 */
import type { DsnRequest } from '../store/port.js'
import type { WorkspaceRow } from '../store/port-tenants.js'
import type { Principal } from '../tenant/principal.js'

export interface EnvelopeRecipient {
  readonly address: string
  readonly dsn: DsnRequest | null
}

export interface Enveloped {
  readonly principal: Principal
  readonly workspace: WorkspaceRow
  readonly envelope: {
    readonly mailFrom: string
    readonly rcptTo: readonly EnvelopeRecipient[]
    readonly envid: string | null
    readonly ret: string | null
    readonly smtpUtf8: boolean
  }
  readonly raw: Uint8Array
  /** For the Received header. */
  readonly client: {
    readonly ip: string
    readonly helo: string
    readonly tls: boolean
    readonly authenticated: boolean
  }
}

export interface MessageAnswer {
  /** The email id for `250 … queued as`. */
  readonly id: string
  readonly replayed: boolean
}
