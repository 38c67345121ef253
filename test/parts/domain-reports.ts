/** Mails with reports about domains, in the shapes in which large receivers send them, and zips of any kind. */
import { deflateRawSync, gzipSync } from 'node:zlib'

const crc32 = (octets: Uint8Array): number => {
  let crc = ~0
  for (const octet of octets) {
    crc ^= octet
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

interface Zipped {
  readonly name?: string
  /** Bits of the flags: 1 is encrypted, 8 has its sizes behind the file. */
  readonly flags?: number
  readonly files?: number
  readonly sizes64?: boolean
  readonly packed?: Buffer
}

/** A zip of one file, or of the same one several times. */
export const zipOf = (
  octets: Buffer,
  { name = 'report.xml', flags = 0, files = 1, sizes64 = false, packed }: Zipped = {},
) => {
  const data = packed ?? deflateRawSync(octets)
  const crc = packed === undefined ? crc32(octets) : 0
  const written: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (let i = 0; i < files; i++) {
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(20, 4)
    local.writeUInt16LE(flags, 6)
    local.writeUInt16LE(8, 8)
    // with bit 8 they stand behind the file, and here is nothing
    if ((flags & 8) === 0)
      for (const [n, field] of [crc, data.length, octets.length].entries())
        local.writeUInt32LE(field, 14 + n * 4)
    local.writeUInt16LE(name.length, 26)
    const behind = Buffer.alloc((flags & 8) === 0 ? 0 : 16)
    if (behind.length > 0)
      for (const [n, field] of [0x08074b50, crc, data.length, octets.length].entries())
        behind.writeUInt32LE(field, n * 4)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(flags, 8)
    entry.writeUInt16LE(8, 10)
    for (const [n, field] of [crc, data.length, octets.length].entries())
      entry.writeUInt32LE(sizes64 ? 0xffffffff : field, 16 + n * 4)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(at, 42)
    const whole = Buffer.concat([local, Buffer.from(name), data, behind])
    written.push(whole)
    directory.push(entry, Buffer.from(name))
    at += whole.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(files, 8)
  end.writeUInt16LE(files, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...written, ...directory, end])
}

const lines64 = (octets: Buffer): string => octets.toString('base64').replace(/.{76}/g, '$&\r\n')

/** One part of a mail. */
export const part = (type: string, octets: Buffer): string =>
  `Content-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines64(octets)}\r\n`

export const mailOf = (body: string, header = ''): Buffer =>
  Buffer.from(
    `From: noreply@reporter.example\r\nTo: dmarc-reports@bounces.test\r\nSubject: Report domain: shop.example\r\n${header}MIME-Version: 1.0\r\n${body}`,
    'latin1',
  )

export const multipart = (type: string, ...parts: readonly string[]): string =>
  `Content-Type: ${type}; boundary="=_b"\r\n\r\nThis is MIME.\r\n${parts.map((one) => `--=_b\r\n${one}`).join('')}--=_b--\r\n`

const TEXT = 'Content-Type: text/plain\r\n\r\nThis is an aggregate report.\r\n'

/** A row as a report has it. */
export interface Row {
  readonly ip: string
  readonly count: number | string
  readonly dkim?: 'pass' | 'fail'
  readonly spf?: 'pass' | 'fail'
  readonly disposition?: string
  readonly from?: string
  /** `selector@domain` of a signature that passed. */
  readonly signed?: string
  readonly returnPath?: string
}

const rowOf = ({
  ip,
  count,
  dkim = 'fail',
  spf = 'fail',
  disposition = 'none',
  from = 'shop.example',
  signed,
  returnPath,
}: Row) => {
  const [selector, domain] = signed?.split('@') ?? []
  return `  <record>
    <row>
      <source_ip>${ip}</source_ip>
      <count>${count}</count>
      <policy_evaluated><disposition>${disposition}</disposition><dkim>${dkim}</dkim><spf>${spf}</spf></policy_evaluated>
    </row>
    <identifiers><header_from>${from}</header_from></identifiers>
    <auth_results>
${signed === undefined ? '' : `      <dkim><domain>other.example</domain><result>fail</result></dkim><dkim><domain>${domain}</domain><selector>${selector}</selector><result>pass</result></dkim>\n`}      <spf><domain>${returnPath ?? 'nobody.example'}</domain><result>${returnPath === undefined ? 'softfail' : 'pass'}</result></spf>
    </auth_results>
  </record>`
}

export interface Shape {
  readonly org?: string
  readonly id?: string
  readonly domain?: string
  /** Epoch seconds. */
  readonly begin?: number | string
  readonly end?: number | string
  readonly rows?: readonly Row[]
  readonly head?: string
  readonly root?: string
}

/** Noon of the day before these tests' now, or of any. */
export const DAY = 86_400
export const BEGIN = Math.floor(Date.now() / 1000 / DAY - 1) * DAY

export const xmlOf = ({
  org = 'google.com',
  id = '10862137434712348017',
  domain = 'shop.example',
  begin = BEGIN,
  end = Number(begin) + DAY - 1,
  rows = [{ ip: '203.0.113.24', count: 12, dkim: 'pass', spf: 'pass', signed: 'pn1r@shop.example' }],
  head = '<?xml version="1.0" encoding="UTF-8" ?>\n',
  root = 'feedback',
}: Shape = {}): string => `${head}<${root}>
  <report_metadata>
    <org_name>${org}</org_name>
    <email>noreply-dmarc-support@reporter.example</email>
    <extra_contact_info>https://reporter.example/help</extra_contact_info>
    <report_id>${id}</report_id>
    <date_range><begin>${begin}</begin><end>${end}</end></date_range>
  </report_metadata>
  <policy_published><domain>${domain}</domain><adkim>r</adkim><aspf>r</aspf><p>none</p><sp>none</sp><pct>100</pct></policy_published>
${rows.map(rowOf).join('\n')}
</${root.split(' ')[0]}>
`

/** The mails of known receivers: how each packs and names what it sends. */
export const SHAPES: Readonly<Record<string, (shape?: Shape) => Buffer>> = {
  // one part alone, and it is a zip
  google: (shape) =>
    mailOf(
      part(
        'application/zip; name="google.com!shop.example!1700000000!1700086399.zip"',
        zipOf(Buffer.from(xmlOf({ org: 'google.com', ...shape })), {
          name: 'google.com!shop.example!1700000000!1700086399.xml',
        }),
      ),
    ),
  // multipart/mixed, gzip
  yahoo: (shape) =>
    mailOf(
      multipart(
        'multipart/mixed',
        TEXT,
        part(
          'application/gzip; name="yahoo.com!shop.example.xml.gz"',
          gzipSync(xmlOf({ org: 'Yahoo', head: '<?xml version="1.0"?>\n', ...shape })),
        ),
      ),
    ),
  // gzip beside HTML in multipart/related, and the schema among the attributes
  microsoft: (shape) =>
    mailOf(
      multipart(
        'multipart/mixed',
        'Content-Type: text/html; charset=us-ascii\r\n\r\n<div>This is a DMARC aggregate report from Microsoft Corporation.</div>\r\n',
        part(
          'application/gzip',
          gzipSync(
            xmlOf({
              org: 'Enterprise Outlook',
              head: '<?xml version="1.0"?>\r\n',
              root: 'feedback xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"',
              ...shape,
            }),
          ),
        ),
      ),
    ),
  // a zip whose sizes stand behind the file, named as octets
  mailru: (shape) =>
    mailOf(
      multipart(
        'multipart/mixed',
        TEXT,
        part(
          'application/octet-stream',
          zipOf(Buffer.from(xmlOf({ org: 'Mail.Ru', ...shape })), { flags: 8 }),
        ),
      ),
    ),
  // the names of RFC 9990, with a namespace
  fastmail: (shape) =>
    mailOf(
      multipart(
        'multipart/report; report-type=dmarc',
        TEXT,
        part(
          'application/gzip',
          gzipSync(
            xmlOf({
              org: 'Fastmail Pty Ltd',
              root: 'feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0"',
              ...shape,
            }),
          ),
        ),
      ),
    ),
  // not packed at all
  plain: (shape) =>
    mailOf(
      multipart(
        'multipart/mixed',
        TEXT,
        part('text/xml', Buffer.from(xmlOf({ org: 'small.example', ...shape }))),
      ),
    ),
}

export interface TlsShape {
  readonly org?: string
  readonly id?: string
  readonly domain?: string
  readonly good?: unknown
  readonly failed?: unknown
  readonly details?: readonly unknown[]
}

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000', '')

export const tlsOf = ({
  org = 'Google Inc.',
  id = '2026-11-26T00:00:00Z_shop.example',
  domain = 'shop.example',
  good = 3,
  failed = 0,
  details = [],
}: TlsShape = {}) =>
  JSON.stringify({
    'organization-name': org,
    'date-range': { 'start-datetime': iso(BEGIN), 'end-datetime': iso(BEGIN + DAY - 1) },
    'contact-info': 'smtp-tls-reporting@reporter.example',
    'report-id': id,
    policies: [
      {
        policy: {
          'policy-type': 'sts',
          'policy-string': ['version: STSv1', 'mode: testing'],
          'policy-domain': domain,
        },
        summary: { 'total-successful-session-count': good, 'total-failure-session-count': failed },
        'failure-details': details,
      },
    ],
  })

export const TLS_SHAPES: Readonly<Record<string, (shape?: TlsShape) => Buffer>> = {
  google: (shape) =>
    mailOf(
      multipart(
        'multipart/report; report-type=tlsrpt',
        TEXT,
        part(
          'application/tlsrpt+gzip; name="google.com!shop.example!1!2!001.json.gz"',
          gzipSync(tlsOf(shape)),
        ),
      ),
      'TLS-Report-Domain: shop.example\r\nTLS-Report-Submitter: google.com\r\n',
    ),
  plain: (shape) =>
    mailOf(
      multipart(
        'multipart/report; report-type=tlsrpt',
        TEXT,
        part('application/tlsrpt+json', Buffer.from(tlsOf(shape))),
      ),
    ),
}
