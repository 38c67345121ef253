/** One of the daemons: its folder, the way to its database, and the mail that is sent to it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseProxy } from '../../parts/database-proxy.js'
import { eventually } from '../../parts/eventually.js'
import type { Postern } from '../../parts/postern.js'
import type { Load } from '../load.js'

/** What becomes of mail that may have been taken: it is tried again, held, or tried again by a real Postfix. */
export type Workspace = 'default' | 'careful' | 'real'

export class Daemon {
  /** Its own exit code, once it has ended. */
  end: number | null | undefined = undefined
  readonly loads: Partial<Record<Workspace, Load>> = {}

  constructor(
    /** What it says with EHLO, too. */
    readonly name: string,
    readonly postern: Postern,
    readonly proxy: DatabaseProxy,
  ) {}

  async start(): Promise<void> {
    this.end = undefined
    await this.postern.start()
    void this.postern.ended.then((code) => {
      this.end = code
    })
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await eventually('a killed daemon ends', () => this.end !== undefined)
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.postern.pid, signal)
  }

  /** By which its writers are known. */
  get owner(): string {
    return readFileSync(join(this.postern.dir, 'data', 'daemon.id'), 'utf8').trim()
  }

  get acknowledged(): number {
    return Object.values(this.loads).reduce((sum, { acknowledged }) => sum + acknowledged.size, 0)
  }
}

/** A thread of a daemon that writes. What stays while it is not taken over. */
export interface Writer {
  readonly n: number
  readonly owner: string
  readonly boot: string
}

export const inWords = (writers: readonly Writer[]): string =>
  writers.map(({ n, boot }) => `${n} of boot ${boot}`).join(', ')
