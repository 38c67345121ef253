/** The examples that AWS publishes for its signature, and requests signed by AWS's own signer. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { Fault } from '../../src/base/fault.js'
import { isSigned, readClaim, type SignedRequest, signatureOf, signingKey } from '../../src/tenant/key.js'
import { signerOf } from '../http/dialect/signing.js'

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const NOW = Date.UTC(2015, 7, 30, 12, 36)
const sha256 = (text: string): string => createHash('sha256').update(text, 'latin1').digest('hex')

interface Example {
  readonly name: string
  readonly method?: string
  readonly target?: string
  /** Beside Host and X-Amz-Date. */
  readonly headers?: readonly string[]
  readonly signed?: string
  readonly body?: string
  readonly signature: string
}

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')

/** Of aws-sig-v4-test-suite, by the names that it has there. */
const SUITE: readonly Example[] = [
  { name: 'get-vanilla', signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31' },
  {
    name: 'get-vanilla-query-order-key-case',
    target: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'get-utf8',
    target: latin1('/ሴ'),
    signature: '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85',
  },
  {
    name: 'get-space',
    target: '/example space/',
    signature: '652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741',
  },
  {
    name: 'get-header-value-order',
    headers: ['My-Header1', 'value4', 'My-Header1', 'value1', 'My-Header1', 'value3', 'My-Header1', 'value2'],
    signed: 'host;my-header1;x-amz-date',
    signature: '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
  },
  {
    name: 'get-header-value-trim',
    headers: ['My-Header1', ' value1', 'My-Header2', ' "a   b   c"'],
    signed: 'host;my-header1;my-header2;x-amz-date',
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
  {
    name: 'post-vanilla',
    method: 'POST',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  {
    name: 'post-x-www-form-urlencoded',
    method: 'POST',
    headers: ['Content-Type', 'application/x-www-form-urlencoded'],
    signed: 'content-type;host;x-amz-date',
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
  {
    name: 'post-header-key-sort',
    method: 'POST',
    headers: ['My-Header1', 'value1'],
    signed: 'host;my-header1;x-amz-date',
    signature: 'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  },
]

const requestOf = (
  { method = 'GET', target = '/', headers = [], signed = 'host;x-amz-date', signature }: Example,
  scope = '20150830/us-east-1/service/aws4_request',
): SignedRequest => ({
  method,
  target,
  rawHeaders: [
    ...['Host', 'example.amazonaws.com', ...headers, 'X-Amz-Date', '20150830T123600Z'],
    'Authorization',
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
  ],
})

t.test('the examples that are published', (t) => {
  for (const one of SUITE) {
    const claim = readClaim(requestOf(one), 'service', NOW)
    const hash = sha256(one.body ?? '')
    const key = signingKey(SECRET, claim.scope)
    t.equal(signatureOf(claim, hash, key).toString('hex'), one.signature, one.name)
    t.ok(isSigned(claim, hash, key), one.name)
    t.notOk(isSigned(claim, sha256('another body'), key), `${one.name}: of another body`)
    t.notOk(isSigned(claim, hash, signingKey('another', claim.scope)), `${one.name}: by another secret`)
  }
  t.end()
})

t.test('the signing key that is published', (t) => {
  t.equal(
    signingKey(SECRET, '20120215/us-east-1/iam/aws4_request').toString('hex'),
    'f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d',
  )
  t.end()
})

const signer = signerOf({ accessKeyId: 'PSTN0123456789ab', secretAccessKey: SECRET })

t.test('what AWS’s signer signs is proved', async (t) => {
  const paths = ['/v1/as/ses/v2/email/outbound-emails', '/a%20b/ü', '/with=signs/~.-_']
  for (const path of paths) {
    const wire = encodeURI(decodeURI(path))
    const body = '{"Content":"ü"}'
    const signed = await signer.sign(
      {
        method: 'POST',
        protocol: 'https:',
        hostname: 'mail.example.com',
        path: wire,
        query: { b: 'two words', a: ['2', '1'], 'ü&': '=' },
        headers: { host: 'mail.example.com:8443', 'content-type': 'application/json', 'x-odd': '  a   b ' },
        body,
      },
      { signingDate: new Date(NOW) },
    )
    const query = 'b=two%20words&a=2&%C3%BC%26=%3D&a=1'
    const request = {
      method: 'POST',
      target: `${wire}?${query}`,
      rawHeaders: Object.entries(signed.headers).flat(),
    }
    const claim = readClaim(request, 'ses', NOW)
    const hash = createHash('sha256').update(body).digest('hex')
    t.equal(claim.bodyHash, hash)
    t.ok(isSigned(claim, hash, signingKey(SECRET, claim.scope)), path)
    const moved = readClaim({ ...request, target: `/moved${request.target}` }, 'ses', NOW)
    t.notOk(isSigned(moved, hash, signingKey(SECRET, moved.scope)), 'of another path')
  }
})

const GOOD = SUITE[0] as Example
/** The words of its refusal; null where there is none. */
const refusal = (
  change: (raw: string[]) => readonly string[],
  more: Partial<Example> = {},
): string | null => {
  const { rawHeaders, ...rest } = requestOf({ ...GOOD, ...more }, '20150830/us-east-1/ses/aws4_request')
  try {
    readClaim({ ...rest, rawHeaders: change([...rawHeaders]) }, 'ses', NOW)
    return null
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return fault.options.detail ?? fault.code
  }
}
const without = (name: string) => (raw: string[]) =>
  raw.flatMap((text, i) => (i % 2 === 0 && text !== name ? [text, raw[i + 1] ?? ''] : []))
const plus =
  (...more: string[]) =>
  (raw: string[]) => [...raw, ...more]
const swap = (from: string | RegExp, to: string) => (raw: string[]) =>
  raw.map((text) => text.replace(from, to))

t.test('what is no good signature, before anything is asked of the store', (t) => {
  const hash = sha256('')
  const rows: readonly (readonly [RegExp | null, (raw: string[]) => readonly string[], Partial<Example>?])[] =
    [
      [null, (raw) => raw],
      [null, plus('X-Odd', 'not signed')],
      [/credentials_missing/, without('Authorization')],
      [/more than once/, plus('Authorization', 'Bearer x')],
      [/more than once/, plus('Host', 'example.amazonaws.com')],
      [/more than once/, plus('X-Amz-Date', '20150830T123600Z')],
      [/Session tokens/, plus('X-Amz-Security-Token', 'x')],
      [/x-amz-date is missing/, without('X-Amz-Date')],
      [/must be a time/, swap('20150830T123600Z', '2015-08-30T12:36:00Z')],
      [/day of the credential/, swap('20150830T123600Z', '20150831T123600Z')],
      [/expired/, swap('20150830T123600Z', '20150830T123059Z')],
      [null, swap('20150830T123600Z', '20150830T123100Z')],
      [/not yet current/, swap('20150830T123600Z', '20150830T124101Z')],
      [/x-amz-content-sha256 must be signed/, plus('X-Amz-Content-Sha256', hash)],
      [
        /must be the SHA-256/,
        plus('X-Amz-Content-Sha256', 'UNSIGNED-PAYLOAD'),
        { signed: 'host;x-amz-content-sha256;x-amz-date' },
      ],
      [
        /must be the SHA-256/,
        plus('X-Amz-Content-Sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'),
        { signed: 'host;x-amz-content-sha256;x-amz-date' },
      ],
      [/host must be signed/, (raw) => raw, { signed: 'x-amz-date' }],
      [/x-amz-date must be signed/, (raw) => raw, { signed: 'host' }],
      [/sorted/, (raw) => raw, { signed: 'x-amz-date;host' }],
      [/sorted/, (raw) => raw, { signed: 'host;host;x-amz-date' }],
      [/is not there/, (raw) => raw, { signed: 'host;x-amz-date;x-other' }],
      [
        /At most 50/,
        (raw) => raw,
        { signed: Array.from({ length: 51 }, (_, i) => `x-${String(i).padStart(2, '0')}`).join(';') },
      ],
      [/must be of AWS4/, (raw) => raw, { signed: 'Host;x-amz-date' }],
      [/must be of AWS4/, (raw) => raw, { signature: GOOD.signature.slice(1) }],
      [/must be of AWS4/, (raw) => raw, { signature: GOOD.signature.toUpperCase() }],
      [/must be of AWS4/, swap('AWS4-HMAC-SHA256', 'AWS4-ECDSA-P256-SHA256')],
      [/must be of AWS4/, swap('aws4_request', 'aws5_request')],
      [/must be of AWS4/, swap(/^AWS4.*/, 'Bearer svc_live_x')],
      [/service ses/, swap('us-east-1/ses', 'us-east-1/s3')],
      [/query/, (raw) => raw, { target: '/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=00' }],
    ]
  for (const [says, change, more] of rows) {
    const said = refusal(change, more)
    if (says === null) t.equal(said, null)
    else t.match(said, says)
  }
  t.end()
})
