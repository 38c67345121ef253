/**
 * Several certificates by the name that a client asks for, on every listener of the built daemon: exact
 * names, wildcards, the default for the rest, a reload, and files that are wrong.
 */
import { copyFileSync, writeFileSync } from 'node:fs'
import { connect, type TLSSocket } from 'node:tls'
import { generate } from 'selfsigned'
import t from 'tap'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { dial } from '../smtp/client.js'

t.setTimeout(120_000)
const ca = await authority(t)
const [main, one, wild] = await Promise.all(
  ['gw.postern.test', 'mail.one.test', '*.two.test'].map((name) => ca.issue(name)),
)
if (main === undefined || one === undefined || wild === undefined) throw new Error('no certificates')
const files = (pair: typeof main) => ({ cert_file: pair.certFile, key_file: pair.keyFile })
const daemon = new Postern({
  tls: { ...files(main), certificates: [files(one), files(wild)] },
  http: { host: '127.0.0.1', port: 0, tls: true },
})
t.teardown(() => daemon.remove())
await daemon.start()

type Where = 'starttls' | 'implicit' | 'bounce' | 'http'

const under = async (where: Where, servername: string): Promise<TLSSocket> => {
  const { submission, bounce, http } = daemon.ports
  const options = { host: '127.0.0.1', rejectUnauthorized: false, ...(servername && { servername }) }
  if (where === 'implicit' || where === 'http')
    return connect({ ...options, port: where === 'http' ? http : (submission[1] ?? 0) })
  const { socket, until } = dial(where === 'bounce' ? bounce : (submission[0] ?? 0))
  socket.write('EHLO x\r\nSTARTTLS\r\n')
  await until(/220 2\.0\.0/)
  socket.removeAllListeners('data')
  return connect({ ...options, socket })
}

const shown = async (where: Where, servername: string) => {
  const socket = await under(where, servername)
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  const { subject, fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return { name: subject.CN, fingerprint256 }
}

t.test('each listener shows the certificate of the name', async (t) => {
  for (const where of ['starttls', 'implicit', 'bounce', 'http'] as const) {
    for (const [asked, name] of [
      ['mail.one.test', 'mail.one.test'],
      ['MAIL.ONE.test', 'mail.one.test'],
      ['smtp.two.test', '*.two.test'],
      ['a.smtp.two.test', 'gw.postern.test'],
      ['else.test', 'gw.postern.test'],
      ['', 'gw.postern.test'],
    ] as const)
      t.equal((await shown(where, asked)).name, name, `${where} ${asked}`)
  }
})

t.test('a reload brings a renewed one, and doctor looks at each', async (t) => {
  const doctor = (await daemon.cli('doctor')).stdout
  t.match(doctor, /mail\.one\.test: /)
  t.match(doctor, /\*\.two\.test: /)
  const fresh = await ca.issue('mail.one.test', -1)
  copyFileSync(fresh.certFile, one.certFile)
  copyFileSync(fresh.keyFile, one.keyFile)
  t.match((await daemon.cli('doctor')).stdout, /mail\.one\.test: expired [^\n]* ago/)
  const before = await shown('http', 'mail.one.test')
  process.kill(daemon.pid, 'SIGHUP')
  for (const where of ['starttls', 'implicit', 'bounce', 'http'] as const)
    await eventually(
      `the other on ${where}`,
      async () => (await shown(where, 'mail.one.test')).fingerprint256 !== before.fingerprint256,
    )
})

t.test('a bad file is told by its key, with the remedy', async (t) => {
  writeFileSync(wild.certFile, 'no certificate')
  const { code, stdout, stderr } = await daemon.cli('config', 'check')
  t.equal(code, 78)
  t.match(`${stdout}${stderr}`, /tls\.certificates\.1\.cert_file[\s\S]*is not a certificate in PEM/)
  process.kill(daemon.pid, 'SIGHUP')
  await eventually('refused', () => daemon.output.some((line) => line.includes('reload refused')))
  t.equal((await shown('implicit', 'x.two.test')).name, '*.two.test', 'the old one stays')
})

t.test('a key of another kind is refused: beside the main one it would not be chosen', async (t) => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'x.two.test' }], {
    ...{ keyType: 'ec', algorithm: 'sha256' },
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'x.two.test' }] }],
  })
  writeFileSync(wild.certFile, cert)
  writeFileSync(wild.keyFile, key)
  const { code, stdout, stderr } = await daemon.cli('config', 'check')
  t.equal(code, 78)
  t.match(`${stdout}${stderr}`, /tls\.certificates\.1\.cert_file[\s\S]*kind ec/)
})
