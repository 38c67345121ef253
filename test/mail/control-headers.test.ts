import fc from 'fast-check'
import t from 'tap'
import { isControlHeader, readTags } from '../../src/mail/control-headers.js'

const CASES: [string, string, [string, string][]][] = [
  ['x-postern-tag', 'kind=receipt', [['kind', 'receipt']]],
  [
    'x-postern-tag',
    'kind=receipt, step=2',
    [
      ['kind', 'receipt'],
      ['step', '2'],
    ],
  ],
  ['x-pm-tag', 'welcome mail', [['tag', 'welcome mail']]],
  ['x-pm-metadata-order-id', '42', [['order-id', '42']]],
  [
    'x-ses-message-tags',
    'campaign=spring, team=a=b',
    [
      ['campaign', 'spring'],
      ['team', 'a=b'],
    ],
  ],
  ['x-mailgun-tag', 'news', [['tag', 'news']]],
  [
    'x-mailgun-variables',
    '{"user":7,"deep":{"a":1}}',
    [
      ['user', '7'],
      ['deep', '{"a":1}'],
    ],
  ],
  [
    'x-mc-tags',
    'a, b',
    [
      ['tag', 'a'],
      ['tag', 'b'],
    ],
  ],
  ['x-mc-metadata', '{"user id":"7"}', [['user_id', '7']]],
  [
    'x-smtpapi',
    '{"category":"a","unique_args":{"x":1},"to":["b@c.d"]}',
    [
      ['tag', 'a'],
      ['x', '1'],
    ],
  ],
  [
    'x-smtpapi',
    '{"category":["a","b"]}',
    [
      ['tag', 'a'],
      ['tag', 'b'],
    ],
  ],
  [
    'x-msys-api',
    '{"metadata":{"x":"y"},"tags":["t"],"campaign_id":"c"}',
    [
      ['tag', 't'],
      ['tag', 'c'],
      ['x', 'y'],
    ],
  ],
  ['x-postal-tag', 'p', [['tag', 'p']]],
  ['x-mt-category', 'c', [['tag', 'c']]],
  ['x-mj-customid', '9', [['custom_id', '9']]],
  ['x-smtpapi', 'no json', []],
  ['x-smtpapi', '[1]', []],
  ['x-mc-metadata', 'null', []],
  ['x-pm-tag', '', []],
  ['x-pm-message-stream', 'outbound', []],
  ['constructor', 'x', []],
]

t.test('tags of many houses', async (t) => {
  for (const [name, value, tags] of CASES) {
    t.strictSame(
      readTags(name, value),
      tags.map(([key, text]) => ({ name: key, value: text })),
      `${name}: ${value}`,
    )
  }
})

t.test('what never leaves', async (t) => {
  for (const name of [
    'idempotency-key',
    'resend-idempotency-key',
    'x-postern-ref',
    'x-postern-scheduled-at',
    'x-ses-configuration-set',
    'x-mailgun-track',
    'x-mc-subaccount',
    'x-msys-api',
    'x-pm-trackopens',
    'x-smtpapi',
    ...CASES.map(([name]) => name).filter((name) => name.startsWith('x-')),
  ]) {
    t.ok(isControlHeader(name), name)
  }
  for (const name of ['x-mailer', 'x-priority', 'subject', 'x-entity-ref-id', 'x-pm', 'list-unsubscribe']) {
    t.notOk(isControlHeader(name), name)
  }
})

t.test('any value gives tags that are fit to store', async () => {
  const names = [...new Set(CASES.map(([name]) => name))]
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.oneof(fc.string(), fc.json()), (name, value) =>
      readTags(name, value).every(
        (tag) =>
          /^[A-Za-z0-9_-]{1,256}$/.test(tag.name) && tag.value !== '' && !/[\x00-\x1f]/.test(tag.value),
      ),
    ),
    { numRuns: 1000 },
  )
})
