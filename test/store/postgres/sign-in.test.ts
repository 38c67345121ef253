/**
 * How a store comes into its database, as the guide has it: a password that is changed while it is open, a certificate of
 * its own, a Unix socket, and servers that are known by their CA alone.
 */
import { chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { serversOf, type Urls } from '../../../src/store/postgres/servers.js'
import { authority } from '../../parts/certificates.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'

const RULES = `local all all trust
hostssl all certified 127.0.0.1/32 cert
host all certified 127.0.0.1/32 reject
host all changing 127.0.0.1/32 scram-sha-256
`

/** What opening it says; null: it opened, and answers. */
const refusal = async (urls: Urls): Promise<string | null> => {
  const store = openPostgresStore({ urls })
  try {
    await store.open()
    await store.accounts()
    return null
  } catch (error) {
    return (error as Error).message
  } finally {
    await store.close()
  }
}

t.test('signing in', { skip: noPostgres() }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-sign-in-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ours = await authority(t)
  const [server, strangers] = [await ours.issue('db.example.com'), await authority(t)]
  const cluster = new Postgres()
  const { uid, gid } = statSync(cluster.dir)
  const given = (from: string, name: string): string => {
    const to = join(cluster.dir, name)
    copyFileSync(from, to)
    chownSync(to, uid, gid)
    return to
  }
  const rules = join(cluster.dir, 'data', 'pg_hba.conf')
  writeFileSync(rules, `${RULES}${readFileSync(rules, 'utf8')}`)
  await cluster.start({
    ssl: 'on',
    ssl_key_file: given(server.keyFile, 'key'),
    ssl_cert_file: given(server.certFile, 'cert'),
    ssl_ca_file: given(ours.caFile, 'ca'),
    unix_socket_directories: cluster.dir,
  })
  t.teardown(() => cluster.stop('fast'))
  const databaseOf = (role: string): void => {
    cluster.sql('postgres', `CREATE ROLE ${role} LOGIN PASSWORD 'first'`)
    cluster.sql('postgres', `CREATE DATABASE ${role} OWNER ${role} TEMPLATE template0`)
  }
  const url = (role: string, parameters: string): string =>
    `postgres://${role}@localhost:${cluster.port}/${role}?${parameters}`

  await t.test('a password is changed, and its file', async (t) => {
    databaseOf('changing')
    const file = join(folder, 'database.url')
    const write = (password: string): void =>
      writeFileSync(file, `postgres://changing:${password}@127.0.0.1:${cluster.port}/changing\n`, {
        mode: 0o600,
      })
    write('first')
    const store = openPostgresStore({ urls: { file } })
    t.teardown(() => store.close())
    await store.open()
    const cut = () =>
      cluster.sql(
        'postgres',
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'changing'",
      )
    cluster.sql('postgres', "ALTER ROLE changing PASSWORD 'second'")
    cut()
    const refused = await store.accounts().catch((error: unknown) => error)
    t.match(refused, { code: 'service.unavailable', cause: { message: /refuses the user changing/ } })
    rmSync(file)
    const missing = await store.accounts().catch((error: unknown) => error)
    t.match(missing, { code: 'service.unavailable' })
    write('second')
    await eventually('it is let in', () =>
      store.accounts().then(
        () => true,
        () => false,
      ),
    )
    t.equal(await refusal({ file }), null)
  })

  await t.test('a certificate instead of a password', async (t) => {
    databaseOf('certified')
    const [own, others] = [await ours.issue('certified'), await strangers.issue('certified')]
    const proved = (pair: { readonly certFile: string; readonly keyFile: string }): string =>
      `sslmode=verify-ca&sslrootcert=${ours.caFile}&sslcert=${pair.certFile}&sslkey=${pair.keyFile}`
    t.equal(await refusal(url('certified', proved(own))), null)
    t.match(await refusal(url('certified', proved(others))), /./, 'of another CA')
    t.match(
      await refusal(url('certified', `sslmode=verify-ca&sslrootcert=${ours.caFile}`)),
      /refuses the user/,
    )
    t.match(await refusal(url('certified', `sslmode=verify-full&sslcert=${own.certFile}`)), /name both/)
    t.match(
      await refusal(url('certified', `sslcert=${own.certFile}&sslkey=${own.keyFile}`)),
      /sslcert wants TLS/,
    )
    const swapped = { certFile: own.certFile, keyFile: own.certFile }
    t.match(await refusal(url('certified', proved(swapped))), /can be read by others|has no key in it/)
  })

  await t.test('whose name is not that of its certificate', async (t) => {
    const by = (mode: string, ca = ours.caFile): string => `sslmode=${mode}&sslrootcert=${ca}`
    databaseOf('named')
    t.match(await refusal(url('named', by('verify-full'))), /does not prove that it is localhost/)
    t.equal(await refusal(url('named', by('verify-ca'))), null)
    t.match(
      await refusal(url('named', by('verify-ca', strangers.caFile))),
      /does not prove that it is localhost/,
    )
    t.throws(() => serversOf(url('named', 'sslmode=verify-ca')), /name one of your own by sslrootcert/)
  })

  await t.test('a Unix socket', async (t) => {
    databaseOf('near')
    const at = `postgres://near@${encodeURIComponent(cluster.dir)}:${cluster.port}/near`
    t.equal(await refusal(at), null)
    t.throws(() => serversOf(`${at}?sslmode=verify-full`), /speaks no TLS/)
  })
})
