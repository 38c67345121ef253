/** One text for one cause, whomever it names. */
import t from 'tap'
import { saidAlike } from '../../src/outcome/suppress.js'

const SAME: readonly (readonly [said: string, ...texts: (readonly [string, string])[]])[] = [
  [
    'recipient address rejected user unknown in virtual mailbox table',
    ['5.1.1 <bob@x.test>: Recipient address rejected: User unknown in virtual mailbox table', 'bob@x.test'],
    ['<Ana.Lee@y.test>: Recipient address rejected: User unknown in virtual mailbox table', 'ana.lee@y.test'],
  ],
  [
    'the email account that you tried to reach does not exist please try double checking gsmtp',
    [
      '5.1.1 The email account that you tried to reach does not exist. Please try double-checking https://support.example/?p=NoSuchUser a1-20020a05600c19d.12 - gsmtp',
      'bob@gmail.test',
    ],
    [
      'The email account that you tried to reach does not exist. Please try double-checking d9443c01a7336-2348 - gsmtp',
      'ana@gmail.test',
    ],
  ],
  ['user is over', ['User bob is over', 'bob@x.test'], ['user ANA is over', 'ana@x.test']],
  [
    'no such mailbox',
    ['No such mailbox (id sYtTPuXEQzwKab@x)', 'a@x'],
    ['no such mailbox dGhpcXlzTmFtZQ', 'b@x'],
  ],
  [
    'user unknown',
    ['User unknown [alpha.far.test]', 'a@x.test'],
    ['user unknown (qkxzvbnm) mta-beta.far.test', 'b@x.test'],
    ['user unknown ref=abcd-efgh', 'c@x.test'],
  ],
  ['', ['550 5.1.1 <a@x.test>', 'a@x.test'], ['', 'b@x.test']],
]

for (const [said, ...texts] of SAME)
  t.test(said, async (t) => {
    for (const [text, address] of texts) t.equal(saidAlike(text, address), said)
  })

t.test('other words are another cause', async (t) => {
  t.not(saidAlike('User unknown', 'a@x.test'), saidAlike('Mailbox disabled', 'a@x.test'))
  t.equal(saidAlike('über die Grenze', 'a@x.test'), 'über die grenze')
})

t.test('an address of odd characters, and a text without end', async (t) => {
  t.equal(saidAlike('a+b(* is gone', 'a+b(*@x.test'), 'is gone')
  t.ok(saidAlike(`${'<'.repeat(50_000)} ${'a@'.repeat(50_000)}`, 'a@x.test').length <= 200)
})
