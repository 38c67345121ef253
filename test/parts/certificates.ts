/**
 * A private certification authority for tests: made in memory, with files where
 * a program must be given a path.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import type { Test } from 'tap'

const DAY = 86_400_000

export interface Pair {
  readonly key: string
  readonly cert: string
  readonly keyFile: string
  readonly certFile: string
}

export interface Authority {
  readonly caFile: string
  /** A certificate for a host, by its name or address, signed by this authority; `days` left, negative for one that has expired. */
  issue(name: string, days?: number): Promise<Pair>
}

export const authority = async (t: Pick<Test, 'teardown'>): Promise<Authority> => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-ca-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const ca = await generate([{ name: 'commonName', value: 'Private CA' }], {
    keySize: 2048,
    extensions: [{ name: 'basicConstraints', cA: true, critical: true }],
  })
  const caFile = join(dir, 'ca.pem')
  writeFileSync(caFile, ca.cert)
  let count = 0
  return {
    caFile,
    async issue(name, days = 30) {
      const end = Date.now() + days * DAY
      const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
        keySize: 2048,
        ca: { key: ca.private, cert: ca.cert },
        notBeforeDate: new Date(end - 60 * DAY),
        notAfterDate: new Date(end),
        extensions: [
          {
            name: 'subjectAltName',
            altNames: [isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name }],
          },
        ],
      })
      const [keyFile, certFile] = [join(dir, `${++count}.key`), join(dir, `${count}.pem`)]
      writeFileSync(keyFile, key, { mode: 0o600 })
      writeFileSync(certFile, cert)
      return { key, cert, keyFile, certFile }
    },
  }
}
