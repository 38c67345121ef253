/**
 * NAME      room - memory that the messages of a door share while they come in
 * DESCRIPTION
 *   A message that grows large when the room is full waits in line, its socket
 *   held back, until another one has been stored. The first of the line may
 *   always go on, beyond the room if need be: so somebody always ends, and what
 *   is used stays below the room and one message. Who waits too long is crowded
 *   out: its bytes are dropped and it is told so at its end.
 */

/** Somebody in line. */
export interface Guest {
  /** It may go on. */
  proceed(): void
}

export class Room {
  private used = 0
  private first: Guest | null = null
  private readonly line = new Set<Guest>()
  private readonly bytes: number

  constructor(bytes: number) {
    this.bytes = bytes
  }

  get isFull(): boolean {
    return this.used > this.bytes
  }

  take(bytes: number): void {
    this.used += bytes
  }

  /** True when this guest may go on; else it is in line, and is told when it may. */
  mayGrow(guest: Guest): boolean {
    if (!this.isFull || guest === this.first) return true
    if (this.first === null) {
      this.first = guest
      return true
    }
    this.line.add(guest)
    return false
  }

  /** The guest is done, or gone; what it held is free. */
  leave(guest: Guest, bytes: number): void {
    this.used -= bytes
    this.line.delete(guest)
    if (this.first === guest) this.first = null
    for (const next of this.line) {
      if (this.isFull && this.first !== null) return
      if (this.isFull) this.first = next
      this.line.delete(next)
      next.proceed()
    }
  }
}
