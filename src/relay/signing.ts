/**
 * NAME      signing - DKIM signatures at the last moment
 *   A mail is signed by the sending domain of its From address, or by the nearest
 *   one above it, if that belongs to the mail's account and workspace: once with
 *   each active key. Keys are opened when their domain changes and kept parsed.
 *   Signatures are made anew for each attempt, since they carry their time; but the
 *   recipients of a mail that leave in one second share one, as they get the same octets.
 * NOTES
 *   libuv's pool, four threads, makes the signatures. It also serves passwords, names in DNS
 *   and body files, so half of it is left to these.
 */
import { domainToASCII } from 'node:url'
import type { Claimed } from '../lifecycle/facts.js'
import { parseAddress } from '../mail/address.js'
import { type DkimKey, loadDkimKey, signMessage } from '../mail/dkim.js'
import type { DomainRow } from '../store/port/tenants.js'
import { lineage } from '../tenant/domain/domain.js'

/** Signatures that are made at once. */
const MOST_AT_ONCE = 2
/** Signatures that are kept for other recipients, within their second. */
const MOST_KEPT = 1_000

interface Opened {
  readonly row: DomainRow
  readonly keys: readonly DkimKey[]
}

export interface ToSign {
  readonly raw: Uint8Array
  readonly form: string
  readonly now: number
  /** Fields that are written anew on the way, and stay out of the signature. */
  readonly rewritten?: readonly string[] | undefined
}

export class Signing {
  readonly #unseal: (sealed: string) => string
  readonly #onTrouble: (domain: string, error: Error) => void
  readonly #make: typeof signMessage
  #byName = new Map<string, Opened>()
  /** Of the second `#second`, by mail, form of the mail and key. */
  readonly #kept = new Map<string, Promise<string>>()
  #second = 0
  #underWay = 0
  readonly #waiting: (() => void)[] = []

  constructor(
    unseal: (sealed: string) => string,
    onTrouble: (domain: string, error: Error) => void,
    make = signMessage,
  ) {
    this.#unseal = unseal
    this.#onTrouble = onTrouble
    this.#make = make
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

  #domainFor({ from, workspaceId }: Claimed, accountId: string): Opened | null {
    if (this.#byName.size === 0) return null
    const address = parseAddress(from)?.address ?? ''
    const domain = domainToASCII(address.slice(address.lastIndexOf('@') + 1)).toLowerCase()
    for (const name of lineage(domain)) {
      const found = this.#byName.get(`${accountId} ${name}`)
      if (found === undefined) continue
      if (found.row.workspaceId === null || found.row.workspaceId === workspaceId) return found
    }
    return null
  }

  async #made({ raw, now, rewritten }: ToSign, key: DkimKey): Promise<string> {
    if (this.#underWay < MOST_AT_ONCE) this.#underWay++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await this.#make(raw, key, now, rewritten)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#underWay--
      else next()
    }
  }

  #field(name: string, mail: ToSign, key: DkimKey): Promise<string> {
    const second = Math.floor(mail.now / 1_000)
    if (second !== this.#second) this.#kept.clear()
    this.#second = second
    const kept = this.#kept.get(name)
    if (kept !== undefined) return kept
    const field = this.#made(mail, key)
    if (this.#kept.size < MOST_KEPT) {
      this.#kept.set(name, field)
      field.catch(() => {
        if (this.#kept.get(name) === field) this.#kept.delete(name)
      })
    }
    return field
  }

  /**
   * The message with its signatures on top; at once, and as it was, when no key speaks for it.
   * `form` tells one form of a mail from another: what is signed under one mail and form has the same octets.
   */
  sign(claimed: Claimed, accountId: string, toSign: ToSign): Uint8Array | Promise<Uint8Array> {
    const { raw, form, rewritten = [] } = toSign
    const found = this.#domainFor(claimed, accountId)
    if (found === null || found.keys.length === 0) return raw
    const { row, keys } = found
    const mail = `${claimed.emailId} ${form} ${rewritten} ${row.id} ${row.updatedAt}`
    return Promise.all(keys.map((key) => this.#field(`${mail} ${key.selector}`, toSign, key))).then(
      (fields) => Buffer.concat([Buffer.from(fields.join(''), 'latin1'), raw]),
      (error: Error) => {
        this.#onTrouble(row.name, error)
        return raw
      },
    )
  }
}
