/** A certificate that certbot renews: the deploy hook of the examples installs both files, and the daemon serves them. */
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { here } from '../cli/desk.js'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern, ROOT } from '../parts/postern.js'
import { must } from '../parts/run.js'

const NAME = 'gw.postern.test'
const HOOK = join(ROOT, 'systemd', 'examples', 'certbot-deploy-hook')

t.test('the hook installs what was renewed, and the daemon shows it', async (t) => {
  const ca = await authority(t)
  const postern = new Postern({ http: { host: '127.0.0.1', port: 0, tls: true } })
  t.teardown(() => postern.remove())
  const folder = (...names: readonly string[]): string => {
    const made = join(postern.dir, ...names)
    mkdirSync(made, { recursive: true, mode: 0o700 })
    return made
  }
  const [archive, lineage, tls, bin] = [
    folder('archive', NAME),
    folder('live', NAME),
    folder('tls', NAME),
    folder('bin'),
  ]
  let serial = 0
  /** As certbot does it: links to what is numbered. */
  const renew = async (): Promise<string> => {
    const { cert, key } = await ca.issue(NAME, 60)
    serial += 1
    for (const [name, text] of [
      ['fullchain', cert],
      ['privkey', key],
    ] as const) {
      const file = join(archive, `${name}${serial}.pem`)
      writeFileSync(file, text, { mode: 0o600 })
      if (serial > 1) unlinkSync(join(lineage, `${name}.pem`))
      symlinkSync(file, join(lineage, `${name}.pem`))
    }
    return new X509Certificate(cert).fingerprint256
  }
  // in the place of systemd: the unit's ExecReload, when there is something to reload
  const asked = join(postern.dir, 'asked')
  const pidFile = join(postern.dir, 'pid')
  writeFileSync(
    join(bin, 'systemctl'),
    `#!/bin/sh\necho "$*" >>${asked}\n[ ! -e ${pidFile} ] || kill -HUP "$(cat ${pidFile})"\n`,
    { mode: 0o755 },
  )
  const user = userInfo()
  const group = (await must('id', ['-gn'])).stdout.trim()
  const hook = (from: string) =>
    must('env', [
      `PATH=${bin}:${process.env.PATH}`,
      `RENEWED_LINEAGE=${from}`,
      `POSTERN_TLS=${join(postern.dir, 'tls')}`,
      `POSTERN_TLS_OWNER=${user.username}`,
      `POSTERN_TLS_GROUP=${group}`,
      HOOK,
    ])
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(
        { port: postern.ports.http, host: '127.0.0.1', rejectUnauthorized: false },
        () => {
          resolve(socket.getPeerCertificate().fingerprint256)
          socket.destroy()
        },
      )
      socket.on('error', reject)
    })

  const first = await renew()
  await hook(lineage)
  const [cert, key] = [join(tls, 'fullchain.pem'), join(tls, 'privkey.pem')]
  const settings = JSON.parse(readFileSync(postern.configFile, 'utf8'))
  writeFileSync(postern.configFile, JSON.stringify({ ...settings, tls: { cert_file: cert, key_file: key } }))
  await postern.start()
  writeFileSync(pidFile, String(postern.pid))
  t.equal(await shown(), first)

  const second = await renew()
  t.equal(await shown(), first, 'what certbot renews alone is not seen')
  await hook(lineage)
  await eventually('the new one is shown', async () => (await shown()) === second)
  for (const file of [cert, key]) t.equal(statSync(file).mode & 0o777, 0o640)
  t.match(readFileSync(asked, 'utf8'), /^(try-reload-or-restart postern\.service\n){2}$/)
  const { stdout } = await here(['doctor', '--json', '--config', postern.configFile])
  const rows = JSON.parse(stdout) as { check: string }[]
  t.strictSame(
    rows.filter(({ check }) => check === 'served certificate'),
    [],
  )

  await hook(folder('live', 'another.test'))
  t.match(
    readFileSync(asked, 'utf8'),
    /^(try-reload-or-restart postern\.service\n){2}$/,
    'others are no business of it',
  )
})
