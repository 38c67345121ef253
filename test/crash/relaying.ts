/** What a kill of one mail needs: a real daemon that relays to a real upstream, and both end with the test. */
import type { Test } from 'tap'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'

export const startRelaying = async (
  t: Test,
): Promise<{ readonly mx: PlainMx; readonly postern: Postern }> => {
  const mx = await new PlainMx().start()
  const postern = new Postern({ relay: { retry: ['1s'] } })
  t.teardown(async () => {
    await postern.remove()
    await mx.stop()
  })
  await postern.start()
  await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
  return { mx, postern }
}
