/**
 * NAME      tally - how many connections each client holds
 * DESCRIPTION
 *   Counts by a key (an address, a credential) up to a limit. An owner, such as
 *   one connection, holds one key at a time, and giving back twice is harmless:
 *   a count that leaks would shut a client out for good.
 */
export class Tally {
  private readonly counts = new Map<string, number>()
  private readonly held = new Map<object, string>()
  /** Keys that were refused since they were last without any. */
  private readonly refused = new Set<string>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  /** False when the key has as many as it may. What the owner held before is given back. */
  take(key: string, owner: object): boolean {
    this.release(owner)
    const count = this.counts.get(key) ?? 0
    if (count >= this.most) return false
    this.counts.set(key, count + 1)
    this.held.set(owner, key)
    return true
  }

  release(owner: object): void {
    const key = this.held.get(owner)
    if (key === undefined) return
    this.held.delete(owner)
    const count = this.counts.get(key) ?? 0
    if (count > 1) this.counts.set(key, count - 1)
    else {
      this.counts.delete(key)
      this.refused.delete(key)
    }
  }

  /** True the first time that this key is refused, so that a flood is one line in the log. */
  isNews(key: string): boolean {
    if (this.refused.has(key)) return false
    this.refused.add(key)
    return true
  }
}
