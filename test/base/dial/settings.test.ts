/** What the configuration says of endpoints is what the dialler does. */
import t from 'tap'
import { diallerBy, diallerOf, tokenSettings } from '../../../src/base/dial.js'
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

t.test('token endpoints have ranges of their own, and who opened those of webhooks is told', async (t) => {
  const config = readConfig(null)
  const webhook = { allow_networks: ['10.0.0.0/8'], proxy: null }
  const of = (ranges: readonly string[]) => {
    const dialler = diallerBy(tokenSettings({ ...config, webhook, oauth: { allow_networks: ranges } }))
    t.teardown(() => dialler.close())
    return dialler
  }
  t.match(
    await of([]).refusal('https://10.1.2.3/token'),
    /oauth\.allow_networks allows ranges; those of webhook\.allow_networks do not count here/,
  )
  t.match(await of([]).refusal('https://192.168.1.1/token'), /\(oauth\.allow_networks allows ranges\)/)
  t.equal(await of(['10.1.0.0/16']).refusal('http://10.1.2.3/token'), null)
})
