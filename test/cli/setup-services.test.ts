/** Upstreams by HTTPS in a setup: applied, told apart by their keys, and exported without them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDesk } from './desk.js'

t.test('applied, changed, exported', async (t) => {
  const desk = openDesk(t)
  desk.file('ses', 'AKIAEXAMPLE:secret0123456789\n')
  desk.file('mailgun', 'key-canary0123456789\n')
  const file = desk.file(
    'setup.yaml',
    `setup: shop
pools:
  main:
    upstreams:
      - ses+https://eu-west-1?access_key_file=ses&weight=3
      - mailgun+https://mg.shop.example?region=eu&key_file=mailgun
`,
  )
  const applied = await desk.run(['apply', '--yes', file])
  t.equal(applied.code, 0, applied.stderr)
  t.match(await desk.run(['apply', '--yes', file]), { code: 0, stderr: 'nothing to do\n' })
  desk.file('ses', 'AKIAANOTHER:secret0123456789\n')
  t.match(
    (await desk.run(['apply', '--dry-run', file])).stdout,
    /upstreams/,
    'another access key is a change',
  )
  t.equal((await desk.run(['apply', '--yes', file])).code, 0)
  const out = join(desk.dir, 'out')
  const exported = await desk.run(['export', '--setup', out])
  t.equal(exported.code, 0, exported.stderr)
  const text = readdirSync(out)
    .map((name) => readFileSync(join(out, name), 'utf8'))
    .join('')
  t.match(text, 'ses+https://eu-west-1?weight=3&access_key_file=FILL-IN')
  t.match(text, 'mailgun+https://mg.shop.example?region=eu&key_file=FILL-IN')
  t.notMatch(JSON.stringify([applied, exported, text]), /canary|secret0123/)
})
