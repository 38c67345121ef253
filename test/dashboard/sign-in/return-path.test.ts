/** Nobody is sent anywhere else. */
import t from 'tap'
import { returnPath } from '../../../src/dashboard/sign-in/deps.js'

const GOOD = ['/', '/emails', '/emails?q=a%20b&mode=test', '/emails/em_01', '/settings/people?x=//y']
const BAD = [
  null,
  undefined,
  '',
  'emails',
  'https://evil.test',
  'javascript:alert(1)',
  '//evil.test',
  '///evil.test',
  '/\\evil.test',
  '\\/evil.test',
  '/\t/evil.test',
  '/\n/evil.test',
  ' /emails',
  '/emails\r\nset-cookie: x=y',
  '/./\\evil.test',
  '/a/..//evil.test',
  '/%0d%0a'.replace('%0d%0a', '\r\n'),
  '/ü',
  '/sign-in',
  '/sign-in/office?x',
  '/sign-out',
  '/setup/abc',
  '/invitation/abc',
  '/v1/emails',
  `/${'x'.repeat(2_000)}`,
]

for (const path of GOOD) t.equal(returnPath(path), path)
for (const path of BAD) t.equal(returnPath(path), '/', JSON.stringify(path))
