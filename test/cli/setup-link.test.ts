/** A way in for whoever runs this installation: printed on a terminal only, else in a file of one's own. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Browser } from '../parts/browser.js'
import { Postern } from '../parts/postern.js'

const postern = await new Postern().start()
t.teardown(() => postern.remove())

t.test('off a terminal it prints nothing that signs in', async (t) => {
  const { code, stdout, stderr } = await postern.cli('setup-link')
  t.equal(code, 64)
  t.equal(stdout, '')
  t.match(stderr, /--out FILE/)
})

t.test('in a file, it opens the dashboard of the daemon that runs', async (t) => {
  const file = join(postern.dir, 'link')
  const { code, stdout } = await postern.cli('setup-link', '--out', file)
  t.equal(code, 0)
  const link = readFileSync(file, 'utf8').trim()
  t.notMatch(stdout, link.slice(-20))
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(new URL(link).origin, postern.url)
  const { status, html } = await new Browser(postern.url).visit(new URL(link).pathname)
  t.equal(status, 200)
  t.match(html, 'Sign in')
  t.equal((await postern.cli('setup-link', '--out', file)).code, 73, 'a file that exists is left alone')
})

t.test('nobody is made by a link for nobody', async (t) => {
  const { code } = await postern.cli(
    'setup-link',
    '--user',
    'nobody@acme.test',
    '--out',
    join(postern.dir, 'no'),
  )
  t.not(code, 0)
})
