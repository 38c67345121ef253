/** A line that holds the end of a message for longer than its answer may take. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import t from 'tap'
import { scan } from '../../../src/relay/dialogue/wire.js'
import { ServiceConnection } from '../../../src/relay/service/connection.js'
import { ses } from '../../../src/relay/service/service.js'
import { RFC_TIMEOUTS } from '../../../src/relay/settings.js'
import { eventually } from '../../parts/eventually.js'
import { mail } from '../parts.js'
import { json, ScriptedService } from './scripted.js'

/** What is written under TLS waits in it while `isHeld`. */
class SlowLine extends Duplex {
  isHeld = false
  readonly held: (() => void)[] = []
  readonly #socket: Socket

  constructor(port: number) {
    super()
    this.#socket = connectTcp(port, '127.0.0.1')
    this.#socket.on('data', (chunk) => this.push(chunk)).on('end', () => this.push(null))
    this.#socket.on('error', (error) => this.destroy(error))
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const go = (): void => void this.#socket.write(chunk, () => done())
    if (this.isHeld) this.held.push(go)
    else go()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }
}

const ANSWER_TIME = 31_000

t.test('time for the answer begins when the message was sent', async (t) => {
  const service = await ScriptedService.start(t, () => json(200, { MessageId: '0100-1' }))
  for (const patience of [ANSWER_TIME, RFC_TIMEOUTS.block + 1]) {
    const line = new SlowLine(Number(new URL(service.url).port))
    const socket = connect({ socket: line, host: '127.0.0.1', ca: readFileSync(service.caFile) })
    t.teardown(() => socket.destroy())
    await once(socket, 'secureConnect')
    let tick = 0
    const connection = new ServiceConnection(socket, {
      service: ses,
      place: {
        ...{ name: 'eu-west-1', prefix: '', host: '127.0.0.1' },
        login: { user: 'AKIAEXAMPLE', secret: 'secret' },
      },
      timeouts: RFC_TIMEOUTS,
      tick: () => tick,
      mayGo: () => true,
    })
    const claimed = mail()
    const raw = claimed.raw ?? new Uint8Array()
    line.isHeld = true
    const carried = connection.carry({
      ...{ claimed, recipients: 1, returnPath: 'bounce@example.com', isFixed: false, raw, head: '' },
      ...{ seen: scan(raw), envelope: { mail: '', rcpt: [] } },
    })
    await eventually('it is on the line', () => line.held.length > 0)
    tick = patience
    connection.sweep(tick)
    line.isHeld = false
    for (const go of line.held) go()
    if (patience === ANSWER_TIME) t.match(await carried, { kind: 'reply', id: '0100-1' })
    else t.match(await carried, { kind: 'lost', stage: 'dot', error: /no answer in time/ }, 'not for ever')
  }
})
