/**
 * NAME      due-timer - when to look for due mail
 * DESCRIPTION
 *   On a hint, when the next mail falls due, and every `poll` milliseconds as the
 *   backstop. Looks never overlap; hints that come during one lead to one more.
 */
interface DueTimerParts {
  /** Claims what is due. */
  readonly visit: () => Promise<void>
  readonly nextDue: () => Promise<number | null>
  readonly now: () => number
  readonly poll: number
  readonly onError: (error: Error) => void
}

export class DueTimer {
  readonly #parts: DueTimerParts
  #timer: NodeJS.Timeout | null = null
  #busy: Promise<void> | null = null
  #again = false
  #stopped = false

  constructor(parts: DueTimerParts) {
    this.#parts = parts
  }

  look(): void {
    if (this.#stopped) return
    if (this.#busy !== null) {
      this.#again = true
      return
    }
    this.#busy = this.#once()
      .catch(this.#parts.onError)
      .finally(() => {
        this.#busy = null
        if (!this.#again) return
        this.#again = false
        setImmediate(() => this.look())
      })
  }

  /** Looks although an earlier look has not come to an end, and perhaps never will. */
  restart(): void {
    this.#busy = null
    this.look()
  }

  /** Resolves when no look is under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#busy
  }

  #later(wait: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (!this.#stopped) this.#timer = setTimeout(() => this.look(), wait)
  }

  async #once(): Promise<void> {
    const { visit, nextDue, now, poll } = this.#parts
    this.#later(poll)
    const due = await nextDue()
    if (due !== null && due <= now()) {
      await visit()
      return
    }
    if (due !== null && due - now() < poll) this.#later(Math.max(1, due - now()))
  }
}
