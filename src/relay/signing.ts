/**
 * NAME      signing - DKIM signatures at the last moment
 * DESCRIPTION
 *   A mail is signed by the sending domain of its From address, or by the nearest
 *   one above it, if that belongs to the mail's account and workspace: once with
 *   each active key. Keys are opened when their domain changes and kept parsed.
 *   Signatures are made anew for each attempt, since they carry their time.
 */
import { domainToASCII } from 'node:url'
import type { Claimed } from '../lifecycle/facts.js'
import { parseAddress } from '../mail/address.js'
import { type DkimKey, loadDkimKey, signMessage } from '../mail/dkim.js'
import type { DomainRow } from '../store/port/tenants/domains.js'
import { lineage } from '../tenant/domain/domain.js'

interface Opened {
  readonly row: DomainRow
  readonly keys: readonly DkimKey[]
}

export class Signing {
  readonly #unseal: (sealed: string) => string
  readonly #onTrouble: (domain: string, error: Error) => void
  #byName = new Map<string, Opened>()

  constructor(unseal: (sealed: string) => string, onTrouble: (domain: string, error: Error) => void) {
    this.#unseal = unseal
    this.#onTrouble = onTrouble
  }

  /** Brings the keys in line with the rows. */
  update(rows: readonly DomainRow[]): void {
    const before = this.#byName
    this.#byName = new Map(
      rows.map((row) => {
        const name = `${row.accountId} ${row.name}`
        const old = before.get(name)
        const same = old !== undefined && old.row.id === row.id && old.row.updatedAt === row.updatedAt
        return [name, { row, keys: same ? old.keys : this.#open(row) }]
      }),
    )
  }

  #open(row: DomainRow): readonly DkimKey[] {
    return row.keys.flatMap(({ state, selector, sealed }) => {
      if (state !== 'active') return []
      try {
        return [{ domain: row.name, selector, privateKey: loadDkimKey(this.#unseal(sealed)) }]
      } catch (error) {
        this.#onTrouble(row.name, error as Error)
        return []
      }
    })
  }

  #keysFor({ from, workspaceId }: Claimed, accountId: string): readonly DkimKey[] {
    if (this.#byName.size === 0) return []
    const address = parseAddress(from)?.address ?? ''
    const domain = domainToASCII(address.slice(address.lastIndexOf('@') + 1)).toLowerCase()
    for (const name of lineage(domain)) {
      const found = this.#byName.get(`${accountId} ${name}`)
      if (found === undefined) continue
      if (found.row.workspaceId === null || found.row.workspaceId === workspaceId) return found.keys
    }
    return []
  }

  /** The message with its signatures on top; as it was when no key speaks for it. */
  sign(claimed: Claimed, accountId: string, raw: Uint8Array, now: number): Uint8Array {
    const keys = this.#keysFor(claimed, accountId)
    if (keys.length === 0) return raw
    try {
      const fields = keys.map((key) => Buffer.from(signMessage(raw, key, now), 'latin1'))
      return Buffer.concat([...fields, raw])
    } catch (error) {
      this.#onTrouble(keys[0]?.domain ?? '', error as Error)
      return raw
    }
  }
}
