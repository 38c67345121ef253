/** A daemon whose way out is a real Postfix, which sends its reports back to it. */
import type { Test } from 'tap'
import { Postern } from './postern.js'
import { freePort, Postfix } from './postfix.js'

/** `environment` is what the daemon has beside ours; both end with the test. */
export const overPostfix = async (t: Pick<Test, 'teardown'>, environment?: NodeJS.ProcessEnv) => {
  const bouncePort = await freePort()
  const upstream = await new Postfix().start({ bouncePort })
  const postern = new Postern({ bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' } })
  t.teardown(async () => {
    await postern.remove()
    upstream.stop()
  })
  await postern.start(environment)
  await postern.route(`smtp://127.0.0.1:${upstream.port}?tls=none`)
  return { postern, upstream }
}
