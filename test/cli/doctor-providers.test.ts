/** doctor asks the identity providers, and says what to do about them. */
import t from 'tap'
import { CLIENT_SECRET, Idp } from '../parts/oidc.js'
import { openDesk } from './desk.js'

const idp = await new Idp().listen()
await idp.know('http://127.0.0.1:9', 'office')
t.teardown(() => idp.close())

const found = async (identity: object) => {
  const settings = {
    ...{ hostname: 'gw.postern.test', data_dir: 'data', http: { port: 0 }, management: { port: 0 } },
    ...{ submission: [], bounce: { port: 0 }, identity },
  }
  const desk = openDesk(t, JSON.stringify(settings))
  desk.file('secret', CLIENT_SECRET)
  const { code, stdout } = await desk.run(['doctor', '--json'])
  const rows = JSON.parse(stdout) as {
    check: string
    result: string
    detail: string
    remedy: string | null
  }[]
  return { code, rows: rows.filter(({ check }) => check === 'identity') }
}

const office = { name: 'office', issuer: idp.issuer, client_id: 'postern', client_secret_file: 'secret' }

t.test('without a provider there is nothing to say, unless nobody can sign in', async (t) => {
  t.strictSame((await found({})).rows, [])
  t.match((await found({ local: false })).rows, [{ result: 'warn', remedy: /set identity\.local: true/ }])
})

t.test('one that answers, one that does not, one that is not what it says', async (t) => {
  t.match((await found({ oidc: [office] })).rows, [
    { result: 'ok', detail: /answers; who is invited gets in$/ },
  ])
  const dead = { ...office, name: 'dead', issuer: 'https://nowhere.invalid' }
  const two = await found({ oidc: [{ ...office, allowed_domains: ['a.test'] }, dead] })
  t.match(two.rows, [
    { result: 'ok', detail: /or of allowed_domains, gets in$/ },
    { result: 'warn', detail: /nowhere\.invalid/, remedy: /issuer URL can be reached/ },
  ])
  const lost = await found({ oidc: [{ ...office, client_secret_file: 'gone' }] })
  t.match(lost, {
    code: 78,
    rows: [{ result: 'fail', detail: /client_secret_file.*ENOENT/, remedy: 'postern config check' }],
  })
  idp.lies = { discovery: (document) => ({ ...document, issuer: 'https://evil.test' }) }
  t.match((await found({ oidc: [office] })).rows, [{ result: 'fail', remedy: /letter by letter/ }])
})
