/** What the configuration says of endpoints is what the dialler does. */
import t from 'tap'
import { diallerOf } from '../../../src/base/dial/settings.js'
import { readConfig } from '../../../src/config/load.js'

t.test('ranges that are allowed, and our own listeners that never are', async (t) => {
  const config = readConfig(null)
  const closed = diallerOf(config)
  const open = diallerOf({ ...config, webhook: { allow_networks: ['127.0.0.0/8'], proxy: null } })
  t.teardown(() => Promise.all([closed.close(), open.close()]))
  t.match(await closed.refusal('https://127.0.0.1:4711/'), /private or reserved/)
  t.equal(await open.refusal('http://127.0.0.1:4711/'), null)
  const { http, management, bounce, submission } = config
  for (const { port } of [http, management, bounce, ...submission]) {
    t.match(await open.refusal(`http://127.0.0.1:${port}/`), /this very server/, String(port))
  }
})
