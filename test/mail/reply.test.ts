import t from 'tap'
import { parseReply } from '../../src/mail/reply.js'

const cases: [string, ReturnType<typeof parseReply>][] = [
  ['250 2.0.0 Ok: queued as 4F', { code: 250, enhanced: '2.0.0', text: 'Ok: queued as 4F' }],
  ['550-5.1.1 No such\r\n550 5.1.1 user here', { code: 550, enhanced: '5.1.1', text: 'No such user here' }],
  ['421 closing', { code: 421, enhanced: null, text: 'closing' }],
  ['250', { code: 250, enhanced: null, text: '' }],
  ['550 5.7.1', { code: 550, enhanced: '5.7.1', text: '' }],
  ['550 #5.1.0 Address rejected.', { code: 550, enhanced: '5.1.0', text: 'Address rejected.' }],
  ['hello', null],
  ['', null],
]
for (const [text, reply] of cases) t.strictSame(parseReply(text), reply, JSON.stringify(text))
