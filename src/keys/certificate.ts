/**
 * NAME      certificate - what the TLS listeners show
 *   The configured pair, checked: the key fits, nobody else can read it, and it is not one that the world knows.
 *   Without a configured pair, a self-signed one is made in data_dir on the first run, and again when it is about to
 *   run out or the host name changed. Further pairs are for those names that stand in them; their keys are of the kind
 *   of the main one, since node:tls puts a pair beside it, and of two kinds OpenSSL chooses. The library behind the
 *   SMTP door brings a certificate whose private key is published in its package: serving it would be TLS in name only.
 */
import { createHash, createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { NamedPair } from '../base/listen.js'
import type { Config } from '../config/config.js'
import { ConfigError } from '../config/problem.js'

export interface Certificate {
  /** PEM, as node:tls takes them. */
  readonly key: string
  readonly cert: string
  readonly selfSigned: boolean
  /** SHA-256 of the certificate, hex; of several, of each. */
  readonly fingerprint: string
  /** Epoch milliseconds; of several, the earliest. */
  readonly expiresAt: number
  /** For clients that ask for one of these names. */
  readonly others: readonly OtherCertificate[]
}

interface OtherCertificate extends NamedPair {
  readonly fingerprint: string
  readonly expiresAt: number
}

type Files = Config['tls']['certificates'][number]

const DAY = 86_400_000
const LIFETIME = 825 * DAY
const RENEW_BEFORE = 30 * DAY

/** SHA-256 over the public keys (SPKI) of certificates whose private key is public. */
const PUBLISHED: ReadonlySet<string> = new Set([
  'c7c33a9a1bf0b606c384fb4b141f01191a14471f441f0cffd7865e4d81de754e', // smtp-server, CN=localhost
])

const refuse = (key: string, value: string, expected: string, remedy: string): ConfigError =>
  new ConfigError([{ where: null, key, value, expected, remedy }])

const readPem = async (key: string, file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw refuse(key, file, `cannot be read: ${code}`, 'name a file in PEM that this user may read')
  }
}

/** Of two files that are missing both are told. */
const bothOf = async (...reads: [Promise<string>, Promise<string>]): Promise<[string, string]> => {
  const wrong = (await Promise.allSettled(reads)).flatMap((one) =>
    one.status === 'rejected' && one.reason instanceof ConfigError ? one.reason.problems : [],
  )
  if (wrong.length > 0) throw new ConfigError(wrong)
  return Promise.all(reads)
}

const checkMode = async (key: string, file: string): Promise<void> => {
  const { mode } = await stat(file)
  // a group may read it: that is how certificate tools share keys with daemons
  if ((mode & 0o007) === 0) return
  throw refuse(key, file, 'the private key can be read by everybody', `run: chmod o= ${file}`)
}

/** Throws ConfigError unless the two fit together and are a secret of ours. */
const examine = (
  key: string,
  cert: string,
  files: { cert: string; key: string },
  at = 'tls',
): X509Certificate => {
  let x509: X509Certificate
  try {
    x509 = new X509Certificate(cert)
  } catch {
    throw refuse(`${at}.cert_file`, files.cert, 'is not a certificate in PEM', 'name the full chain')
  }
  let fits: boolean
  try {
    fits = x509.checkPrivateKey(createPrivateKey(key))
  } catch {
    throw refuse(`${at}.key_file`, files.key, 'is not a private key in PEM without a passphrase', 'name one')
  }
  if (!fits) throw refuse(`${at}.key_file`, files.key, 'is not the key of this certificate', 'name its key')
  const spki = x509.publicKey.export({ type: 'spki', format: 'der' })
  if (PUBLISHED.has(createHash('sha256').update(spki).digest('hex'))) {
    const expected = 'is a published certificate: its private key is known to everybody'
    throw refuse(`${at}.cert_file`, files.cert, expected, 'use a certificate of your own')
  }
  return x509
}

const describe = (key: string, cert: string, x509: X509Certificate, selfSigned: boolean): Certificate => ({
  key,
  cert,
  selfSigned,
  fingerprint: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
  expiresAt: Date.parse(x509.validTo),
  others: [],
})

/** Written whole under another name first: a crash must not leave half a key. */
const writeSecret = async (file: string, text: string): Promise<void> => {
  const fresh = `${file}.${randomBytes(4).toString('hex')}`
  await writeFile(fresh, text, { mode: 0o600, flag: 'wx' })
  await rename(fresh, file)
}

const makeSelfSigned = async (hostname: string, now: number) => {
  // loaded on the first run only: it is slow to load
  const { generate } = await import('selfsigned')
  const names = [...new Set([hostname, 'localhost'])]
  const made = await generate([{ name: 'commonName', value: hostname.slice(0, 64) }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAY),
    notAfterDate: new Date(now + LIFETIME),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          ...names.map((value) =>
            isIP(value) === 0 ? { type: 2 as const, value } : { type: 7 as const, ip: value },
          ),
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  })
  return { key: made.private, cert: made.cert }
}

const selfSignedFiles = ({ data_dir }: Config) => ({
  cert: join(data_dir, 'self-signed.crt'),
  key: join(data_dir, 'self-signed.key'),
})

const readSelfSigned = async (config: Config): Promise<Certificate> => {
  const files = selfSignedFiles(config)
  const [key, cert] = await Promise.all([readPem('data_dir', files.key), readPem('data_dir', files.cert)])
  await checkMode('data_dir', files.key)
  return describe(key, cert, examine(key, cert, files), true)
}

/** One made under a clock that was ahead is as useless as one that has run out. */
const isGood = ({ cert, expiresAt }: Certificate, hostname: string, now: number): boolean => {
  const x509 = new X509Certificate(cert)
  const isInTime = Date.parse(x509.validFrom) <= now && expiresAt - now > RENEW_BEFORE
  return isInTime && x509.checkHost(hostname) !== undefined
}

const selfSigned = async (config: Config, now: number): Promise<Certificate> => {
  const { data_dir, hostname } = config
  const files = selfSignedFiles(config)
  try {
    const found = await readSelfSigned(config)
    if (isGood(found, hostname, now)) return found
  } catch (error) {
    // a pair that is missing or was torn apart by a crash is made anew; one that others read is not excused
    if (error instanceof ConfigError && error.message.includes('everybody')) throw error
  }
  const { key, cert } = await makeSelfSigned(hostname, now)
  await mkdir(data_dir, { recursive: true, mode: 0o700 })
  await writeSecret(files.key, key)
  await writeSecret(files.cert, cert)
  return describe(key, cert, new X509Certificate(cert), true)
}

const readPair = async (
  at: string,
  { cert_file, key_file }: Files,
): Promise<readonly [Certificate, X509Certificate]> => {
  const [key, cert] = await bothOf(readPem(`${at}.key_file`, key_file), readPem(`${at}.cert_file`, cert_file))
  await checkMode(`${at}.key_file`, key_file)
  const x509 = examine(key, cert, { cert: cert_file, key: key_file }, at)
  return [describe(key, cert, x509, false), x509]
}

/** The DNS names of its subjectAltName. */
const namesOf = ({ subjectAltName = '' }: X509Certificate): readonly string[] =>
  [...subjectAltName.matchAll(/(?:^|, )DNS:([^,\s]+)/g)].map(([, name = '']) => name.toLowerCase())

const readOther = async (files: Files, i: number, kind: string | undefined): Promise<OtherCertificate> => {
  const at = `tls.certificates.${i}`
  const [{ key, cert, fingerprint, expiresAt }, x509] = await readPair(at, files)
  const names = namesOf(x509)
  if (names.length === 0) {
    const expected = 'names no host in its subjectAltName, so no client would be shown it'
    throw refuse(`${at}.cert_file`, files.cert_file, expected, 'use a certificate with DNS names')
  }
  if (kindOf(cert) !== kind) {
    const expected = `has a key of the kind ${kindOf(cert)}, and the main certificate one of the kind ${kind}: clients would be shown the wrong one`
    throw refuse(
      `${at}.cert_file`,
      files.cert_file,
      expected,
      'use keys of one kind, such as EC P-256, for all',
    )
  }
  return { names, key, cert, fingerprint, expiresAt }
}

/** `rsa`, `ec`, … */
const kindOf = (cert: string): string | undefined => new X509Certificate(cert).publicKey.asymmetricKeyType

/** What is wrong with any of the further pairs is told of all of them. */
const withOthers = async (main: Certificate, { tls }: Config): Promise<Certificate> => {
  const kind = kindOf(main.cert)
  const read = await Promise.allSettled(tls.certificates.map((files, i) => readOther(files, i, kind)))
  const failed = read.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  const unmeant = failed.find((reason) => !(reason instanceof ConfigError))
  if (unmeant !== undefined) throw unmeant
  if (failed.length > 0) throw new ConfigError(failed.flatMap((reason) => (reason as ConfigError).problems))
  const others = read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  return {
    ...main,
    others,
    fingerprint: [main, ...others].map(({ fingerprint }) => fingerprint).join(' '),
    expiresAt: Math.min(main.expiresAt, ...others.map(({ expiresAt }) => expiresAt)),
  }
}

const configured = async ({ tls: { cert_file, key_file } }: Config): Promise<Certificate | null> =>
  cert_file === null || key_file === null ? null : (await readPair('tls', { cert_file, key_file }))[0]

/** The certificate as it stands, without making one. Throws ConfigError when it can not be served. */
export const readCertificate = async (config: Config): Promise<Certificate> =>
  withOthers((await configured(config)) ?? (await readSelfSigned(config)), config)

/** The certificate of this configuration, a self-signed one where none is named. Throws ConfigError as well. */
export const loadCertificate = async (config: Config, now: number = Date.now()): Promise<Certificate> =>
  withOthers((await configured(config)) ?? (await selfSigned(config, now)), config)
