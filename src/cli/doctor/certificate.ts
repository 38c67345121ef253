/**
 * NAME      certificate - what TLS clients will be shown
 */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.js'
import { ConfigError } from '../../config/problem.js'
import { type Certificate, readCertificate } from '../../keys/certificate.js'
import { spanText } from '../time.js'
import { type Check, type Finding, fail, ok, warn } from './finding.js'

const SOON = 21 * 86_400_000
/** The daemon makes its own anew when it starts or reloads; doctor changes nothing. */
const OWN = 'systemctl reload-or-restart postern'

const judge = (
  certificate: Pick<Certificate, 'cert' | 'selfSigned'>,
  hostname: string,
  now: number,
): readonly Finding[] => {
  const x509 = new X509Certificate(certificate.cert)
  const expiresAt = Date.parse(x509.validTo)
  const left = expiresAt - now
  const until = new Date(expiresAt).toISOString().slice(0, 10)
  const renew = certificate.selfSigned ? OWN : 'renew it, then: systemctl reload postern'
  if (left <= 0) return [fail('certificate', `expired ${spanText(-left)} ago, on ${until}`, renew, 78)]
  if (Date.parse(x509.validFrom) > now) {
    const detail = `is not valid before ${x509.validFrom}: wrong certificate, or the clock is off`
    return [fail('certificate', detail, certificate.selfSigned ? OWN : 'timedatectl set-ntp true', 78)]
  }
  const found: Finding[] = []
  if (left < SOON) found.push(warn('certificate', `expires in ${spanText(left)}, on ${until}`, renew))
  if (x509.checkHost(hostname) === undefined) {
    found.push(
      warn(
        'certificate',
        `does not name ${hostname}`,
        certificate.selfSigned ? OWN : 'use a certificate for that name, or set hostname',
      ),
    )
  }
  if (certificate.selfSigned) {
    const detail = `self-signed until ${until}: clients that verify will refuse it`
    found.push(warn('certificate', detail, 'set tls.cert_file and tls.key_file'))
  }
  return found.length > 0 ? found : [ok('certificate', `for ${hostname}, until ${until}`)]
}

/** systemd reads a credential when the unit starts: after a renewal a reload finds the old key. */
const checkCredential = ({ tls }: Config): readonly Finding[] => {
  const files = [tls, ...tls.certificates].flatMap(({ cert_file, key_file }) => [cert_file, key_file])
  const held = files.filter((file) => file?.startsWith('/run/credentials/'))
  if (held.length === 0) return []
  const detail = `${held.join(', ')}: a credential is not read again by a reload, so a renewed certificate waits for a restart`
  return [
    warn('certificate', detail, 'have a deploy hook install the files: systemd/examples/certbot-deploy-hook'),
  ]
}

export const checkCertificate: Check = async ({ config, now }) => {
  const configured = config.tls.cert_file !== null
  if (!configured && !existsSync(join(config.data_dir, 'self-signed.crt'))) {
    return [
      warn(
        'certificate',
        'none yet: a self-signed one is made on the first start',
        'set tls.cert_file and tls.key_file',
      ),
    ]
  }
  try {
    const certificate = await readCertificate(config)
    return [
      ...checkCredential(config),
      ...judge(certificate, config.hostname, now),
      ...certificate.others.flatMap(({ names: [name = ''], cert }) =>
        judge({ cert, selfSigned: false }, name, now).map((found) => ({
          ...found,
          detail: `${name}: ${found.detail}`,
        })),
      ),
    ]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const found = error.problems.map(({ key, value, expected, remedy }) =>
      // a pair of our own that was torn apart is made anew; one that others read waits for its mode
      fail(
        'certificate',
        `${key}: ${value} ${expected}`,
        configured || expected.includes('everybody') ? (remedy ?? 'postern config check') : OWN,
        78,
      ),
    )
    return [...checkCredential(config), ...found]
  }
}
